#include "engine/attention/execution.h"
#include "engine/core/made_once.h"
#include "engine/inference/language_model.h"
#include "engine/inference/memory.h"
#include "engine/inference/step_plan.h"

#include <algorithm>
#include <array>

// Steps from caches and running states. Where the fused kernel serves every site, a step may have more rows than there
// are tokens; else it has exactly as many, and reads as many keys as it must.

namespace attn {
namespace {

/// Numbers of rows of a step with rows to spare. A longer prompt runs in pieces.
constexpr std::array<int64_t, 3> kPrefillBuckets{16, 128, 512};
/// Numbers of rows of other steps.
constexpr std::array<int64_t, 5> kPieces{256, 64, 16, 4, 1};
/// A step that forms scores reads this number of keys or a multiple by a power of kMoreKeys, with few plans for any
/// length.
constexpr int64_t kLeastKeys = 64, kMoreKeys = 4;
/// A pattern of more keys is formed for fewer rows at a time.
constexpr int64_t kFormedKeys = 4096;
/// The most numbers of newest rows of all heads: more are not read back with every token.
constexpr int64_t kMostNewest = int64_t{1} << 24;

} // namespace

void LanguageModel::prepareSteps() {
    noCacheReason_ = attn::noCacheReason(config(), capacity_);
    if (!noCacheReason_.empty()) return;
    memory_->allocate(sourcesOf(*stepGraph(1).graph, NodeKind::State), capacity_);
    for (size_t layer = 0; layer < config().layers.size(); ++layer) {
        const LayerAttention& attention = config().layers[layer];
        const StepKind kind =
            stepExecution(attention.spec, capacity_, attention.headWidth, static_cast<int>(layer)).kind;
        readsKeys_ = readsKeys_ || kind == StepKind::Cache || (kind == StepKind::State && options_.inspects);
    }
}

std::unique_ptr<LanguageModel::Step> LanguageModel::makeStep(int64_t queries, int64_t keys, bool givesLogits,
                                                             const std::set<std::string>& probes) {
    const ModelGraph graph = stepGraph(queries, keys);
    std::map<std::string, Tensor> outputs(graph.updates.begin(), graph.updates.end());
    if (givesLogits) outputs.emplace("next_logits", graph.nextLogits);
    auto step = std::make_unique<Step>();
    step->queries = queries;
    step->executor = executorOf(graph, outputs, probes, {.profiles = options_.profiles});
    return step;
}

int64_t LanguageModel::bucketFor(size_t tokens) const {
    if (tokens <= 1) return 1;
    // Patterns that changes set are formed for all tokens of the cache.
    const bool formsPatterns = !isBypassed() && !hookChanges().patterns().empty();
    const int64_t rows = cacheRows(), formed = kPrefillBuckets[rows > kFormedKeys ? 0 : 1];
    const int64_t most = std::min(rows, formsPatterns ? formed : kPrefillBuckets.back());
    for (int64_t bucket : kPrefillBuckets)
        if (static_cast<int64_t>(tokens) <= bucket && bucket <= most) return bucket;
    return most;
}

int64_t LanguageModel::keysFor(size_t tokens) const {
    const bool changesPatterns = !isBypassed() && !hookChanges().patterns().empty();
    if (!readsKeys_ && !changesPatterns) return capacity_;
    int64_t keys = kLeastKeys;
    while (keys < static_cast<int64_t>(tokens)) keys *= kMoreKeys;
    return std::min(keys, capacity_);
}

void LanguageModel::runSource() {
    if (memory_->keepsSource()) return;
    const int64_t rows = sourceRows(sides_);
    auto& known = currentSteps().source;
    if (!known || known->source != rows) {
        const ModelGraph graph = buildSource(config(), {.source = rows, .changed = changedHooks()}, sourceCapacity_);
        auto step = std::make_unique<Step>();
        step->source = rows;
        const std::map<std::string, Tensor> outputs(graph.updates.begin(), graph.updates.end());
        step->executor = executorOf(graph, outputs);
        known = std::move(step);
    }
    GpuExecutor& executor = *known->executor;
    writeSource(executor, sides_);
    writeGates(executor);
    writeChanges(executor, 0, {});
    executor.run({});
    memory_->keepSource(true);
}

int64_t LanguageModel::pieceFor(size_t tokens) const {
    const auto count = static_cast<int64_t>(tokens);
    if (isCached_) return std::min(bucketFor(tokens), count);
    return *std::ranges::find_if(kPieces, [&](int64_t piece) { return piece <= count; });
}

size_t LanguageModel::togetherOf(size_t tokens, size_t written) const {
    // For views, the last token of a text runs separately: its plan also gives the newest row of every head.
    const size_t text = tokens - std::min(tokens, written);
    return options_.inspects || text <= 1 ? text - std::min<size_t>(text, 1) : text;
}

LanguageModel::Step& LanguageModel::stepFor(size_t tokens, bool isAlone) {
    // Of the steps with rows to spare, the one for a single row has kernels of its own.
    const int64_t queries = isAlone ? 1 : isCached_ ? bucketFor(std::max<size_t>(tokens, 2)) : pieceFor(tokens);
    const int64_t keys = isCached_ ? cacheRows() : keysFor(memory_->length() + static_cast<size_t>(queries));
    return madeOnce(currentSteps().cached, {sourceRows(sides_), queries, keys}, [&] {
        std::set<std::string> newestRows; // of every head that runs in a step, for views
        const auto decoder = static_cast<int>(info_.structure.streams.size()) - 1;
        const bool givesRows =
            queries == 1 && options_.inspects && int64_t{info_.siteCount()} * info_.heads * keys <= kMostNewest;
        for (int site = 0; site < info_.siteCount() && givesRows; ++site)
            if (const std::string hook = info_.site(site).hook("pattern");
                info_.site(site).queryStream == decoder && std::ranges::count(info_.hooks, hook) > 0)
                newestRows.insert(hook);
        return makeStep(queries, keys, queries == 1 || !options_.inspects, newestRows); // see feedSteps()
    });
}

bool LanguageModel::warmUp() {
    if (!isCached_) return false;
    for (int64_t bucket : kPrefillBuckets) {
        const auto tokens = static_cast<size_t>(bucket);
        const size_t before = currentSteps().cached.size();
        Step& step = stepFor(tokens, false);
        if (currentSteps().cached.size() == before) continue;
        StepParams params; // no query: the kernels are built and return at once
        params[StepScalar::CacheOffset] = params[StepScalar::KeyLength] = static_cast<uint32_t>(tokens_.size());
        step.executor->run(params);
        return true;
    }
    return false;
}

bool LanguageModel::runStep(Step& step, size_t count, const Cancelled& isCancelled) {
    const size_t first = memory_->length();
    const StepParams params = writeStep(*step.executor, first, std::span(tokens_).subspan(first, count));
    patterns_->tokensChange(first);
    newest_ = nullptr;
    memory_->prepare(count);
    if (!step.executor->run(params, isCancelled)) return false;
    memory_->keep(count);
    return true;
}

bool LanguageModel::feedSteps(std::span<const int> tokens, size_t together, const Cancelled& isCancelled) {
    makeRoom(tokens_.size() + tokens.size());
    return extend(tokens, [&] { return runRest(together, isCancelled); });
}

bool LanguageModel::extend(std::span<const int> tokens, const std::function<bool()>& run) {
    const size_t before = tokens_.size(), keptBefore = memory_->length();
    const auto undo = [&] {
        tokens_.resize(before);
        memory_->drop(std::min(keptBefore, before));
    };
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    hasPatterns_ = false;
    try {
        if (run()) return true;
    } catch (...) {
        undo();
        throw;
    }
    undo();
    return false;
}

bool LanguageModel::runRest(size_t together, const Cancelled& isCancelled) {
    if (config().readsStream()) runSource();
    while (memory_->length() < tokens_.size()) {
        const bool isAlone = memory_->length() >= together;
        const size_t most = isAlone ? 1 : together - memory_->length();
        Step& step = stepFor(most, isAlone);
        const size_t count = std::min(most, static_cast<size_t>(step.queries));
        if (!runStep(step, count, isCancelled)) return false;
        memory_->endPiece(count, isAlone);
        if (memory_->length() < tokens_.size()) continue;
        if (isAlone) newest_ = &step;
        const auto result = step.executor->result("next_logits");
        logits_.assign(result.begin(), result.begin() + info_.vocabulary);
    }
    return true;
}

} // namespace attn
