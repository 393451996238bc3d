#include "engine/core/error.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/change_inputs.h"
#include "engine/inference/memory.h"
#include "engine/inference/step_plan.h"
#include "engine/inference/view_graph.h"
#include "engine/runtime/dense_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Changes to hooks and patterns.

namespace attn {
void LanguageModel::changesChanged(bool isOtherSet) {
    patterns_->changesChanged(); // every pattern after the changed layer may change
    hasPatterns_ = false;
    memory_->keepSource(false);
    memory_->forgetBranches();
    newest_ = nullptr;
    if (!isOtherSet) return;
    *changedSteps_ = {};
}

int64_t LanguageModel::streamWidth() const {
    return buildForListing(config())
        .graph->probes()
        .at(info_.site(0).inBlock("hook_resid_pre"))
        .tensor.shape()
        .columns();
}

Input LanguageModel::sourceOf(const ValueChange& change, bool isContrast, const Input& own,
                              const std::optional<Input>&) const {
    const std::string& text = isContrast ? change.contrast : change.text;
    TextInput source = own.text();
    std::vector<float> patches = own.patches();
    if (!text.empty()) {
        const Tokenizer* reads = sourceTokenizer();
        std::vector<int> ids = reads ? reads->read(text).ids : parseTokenIds(text);
        if (config().source(AxisKind::Tokens)) // another source; the target stays
            source.source = std::move(ids);
        else
            source = {.tokens = std::move(ids)};
    }
    if (source.tokens.empty())
        throw Error({.what = "there is no text to copy values from", .where = change.hook, .hint = "enter a text"});
    Input other{std::move(source), std::move(patches)};
    require(other);
    return other;
}

CapturedHook LanguageModel::originalValues(const Input& input, const std::string& hook) {
    struct Clear { // the cache then holds tokens of a run without changes
        LanguageModel& model;
        ~Clear() { model.truncate(0); }
    } clear{*this};
    truncate(0);
    if (!isCached_) return std::move(capture(input, hook).front());
    return fedValues(input.tokens(), hook);
}

CapturedHook LanguageModel::fedValues(std::span<const int> tokens, const std::string& hook) {
    CapturedHook values{.name = hook};
    std::vector<int64_t> extents;
    requireHooks({hook}, tokens.size());
    returnRoom(tokens.size(), 1);
    makeRoom(tokens.size());
    tokens_.assign(tokens.begin(), tokens.end());
    while (memory_->length() < tokens_.size()) {
        const size_t left = tokens_.size() - memory_->length(), most = left > 1 ? left - 1 : left; // as in feedSteps()
        const auto step = makeStep(left > 1 ? bucketFor(std::max<size_t>(most, 2)) : 1, 0, false, {hook});
        const size_t count = std::min(most, static_cast<size_t>(step->queries));
        runStep(*step, count, {});
        const std::vector<float> rows = denseResult(*step->executor, hook);
        extents = step->executor->plan().result(hook).type.shape.extents();
        values.values.insert(
            values.values.end(), rows.begin(),
            rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / static_cast<size_t>(extents.front()) * count));
    }
    extents.front() = static_cast<int64_t>(tokens.size());
    values.shape = Shape(extents);
    return values;
}

void LanguageModel::writePattern(const ChangeInputs& pattern, const PatternChange& change, size_t first,
                                 size_t count) const {
    for (size_t row = 0; row < count; ++row) { // of [H,T,S]
        std::vector<float> weights =
            changedPatternRow(change, static_cast<int>(first + row), static_cast<int>(first + count));
        if (!weights.empty()) weights.resize(static_cast<size_t>(pattern.shape[2]), 0);
        pattern.setRow(static_cast<size_t>(change.head * pattern.shape[1]) + row, weights);
    }
}

std::vector<float> LanguageModel::changedPatternRow(const PatternChange& change, int query, int tokens) const {
    std::vector<int> keys = seenPlaces(attentionOf(change.site).spec, change.site, change.head, info_.heads, query,
                                       static_cast<int>(cacheRows()));
    if (config().readsStream()) tokens = keyCount(change.site);
    keys.resize(std::min(keys.size(), static_cast<size_t>(tokens)));
    return attn::changedPatternRow(change, query, keys);
}

std::vector<float> LanguageModel::changedRow(int layer, int head, int query) const {
    const auto change = hookChanges().patterns().find({layer, head});
    if (isBypassed() || change == hookChanges().patterns().end()) return {};
    return changedPatternRow(change->second, query, static_cast<int>(tokens_.size()));
}

LongPatternSource LanguageModel::longPatternSource(int layer) const {
    LongPatternSource source = attn::longPatternSource(config(), cacheRows(), layer);
    source.changedRows = [this, layer](int head, int64_t query) {
        return changedRow(layer, head, static_cast<int>(query));
    };
    return source;
}

} // namespace attn
