#include "engine/attention/execution.h"
#include "engine/inference/language_model.h"
#include "engine/inference/step_plan.h"

#include <algorithm>
#include <array>

// Steps of models whose sites do not all have the fused kernel, from a cache or a running state.

namespace attn {
namespace {

/// Numbers of tokens of a step. A longer text runs in such pieces, so no step computes rows that do not exist.
constexpr std::array<int64_t, 5> kPieces{256, 64, 16, 4, 1};
/// A step reads this number of keys or a multiple by a power of kMoreKeys, with few plans for any length.
constexpr int64_t kLeastKeys = 64, kMoreKeys = 4;

} // namespace

void LanguageModel::prepareSteps() {
    whyNoCache_ = attn::whyNoCache(config(), capacity_);
    if (!whyNoCache_.empty()) return;
    store_->reserve(sourcesOf(*stepGraph(1).graph, NodeKind::State));
    for (size_t layer = 0; layer < config().layers.size(); ++layer) {
        const LayerAttention& attention = config().layers[layer];
        const StepKind kind =
            stepExecution(attention.spec, capacity_, attention.headWidth, static_cast<int>(layer)).kind;
        keepsState_ = keepsState_ || kind == StepKind::State;
        readsKeys_ = readsKeys_ || kind == StepKind::Cache || (kind == StepKind::State && options_.inspects);
    }
}

LanguageModel::Step& LanguageModel::pieceStep(int64_t queries, int64_t keys) {
    auto& step = currentSteps()[queries << 16 | keys];
    if (!step) step = makeStep(queries, keys, true, newestPatterns(queries));
    return *step;
}

int64_t LanguageModel::keysFor(size_t tokens) const {
    const bool editsPatterns = !isBypassed() && !hookEdits().patterns().empty();
    if (!readsKeys_ && !editsPatterns) return capacity_;
    int64_t keys = kLeastKeys;
    while (keys < static_cast<int64_t>(tokens)) keys *= kMoreKeys;
    return std::min(keys, capacity_);
}

bool LanguageModel::feedPieces(std::span<const int> tokens, const Cancelled& isCancelled) {
    const size_t before = tokens_.size(), cachedBefore = cached_;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    hasPatterns_ = false;
    while (cached_ < tokens_.size()) {
        // For views, the last token runs separately: its plan also gives the newest row of every head.
        const size_t left = tokens_.size() - cached_, most = options_.inspects && left > 1 ? left - 1 : left;
        const auto count = static_cast<size_t>(
            *std::ranges::find_if(kPieces, [&](int64_t piece) { return piece <= static_cast<int64_t>(most); }));
        Step& step = pieceStep(static_cast<int64_t>(count), keysFor(cached_ + count));
        const StepParams params = writeStep(*step.executor, cached_, std::span(tokens_).subspan(cached_, count));
        newest_ = nullptr;
        if (!step.executor->run(params, isCancelled)) {
            tokens_.resize(before);
            cached_ = keepsState_ ? 0 : std::min(cachedBefore, before);
            return false;
        }
        cached_ += count;
        if (cached_ < tokens_.size()) continue;
        if (count == 1) newest_ = &step;
        const auto result = step.executor->result("next_logits");
        logits_.assign(result.begin(), result.begin() + info_.vocabulary);
    }
    return true;
}

} // namespace attn
