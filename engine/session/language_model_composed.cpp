#include "engine/core/error.h"
#include "engine/session/graph_sources.h"
#include "engine/session/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Models whose attention is composed of parts have no cache: each step runs the whole context, and views read the
// patterns that it formed. Their contexts are as short as what is trained here.

namespace attn {

bool LanguageModel::isComposed() const { return attn::isComposed(config()); }

std::unique_ptr<LanguageModel::Step> LanguageModel::makeComposedStep(std::set<std::string> probes) {
    const DecoderGraph graph = buildDecoder(config(), {.queries = capacity_});
    std::erase_if(probes, [&](const std::string& name) { return !graph.graph->probes().contains(name); });
    const auto plan = compile(graph.graph, {{"all_logits", graph.logits}}, probes);
    writeConstants(*store_, *plan, graph.composed);
    auto step = std::make_unique<Step>();
    step->queries = capacity_;
    step->executor = std::make_unique<GpuExecutor>(*context_, *kernels_, *store_, plan,
                                                   GpuExecutorOptions{.profiles = options_.profiles});
    return step;
}

bool LanguageModel::runComposed(Step& step, std::span<const int> tokens, const Cancelled& isCancelled) {
    GpuExecutor& executor = *step.executor;
    const std::span<int32_t> ids = executor.inputIntegers(decoder_names::kTokens);
    std::ranges::fill(ids, 0);
    std::ranges::copy(tokens, ids.begin());
    if (executor.hasInput(decoder_names::kPositions)) {
        const auto positions = executor.inputIntegers(decoder_names::kPositions);
        for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int32_t>(i);
    }
    writeGates(executor);
    if (!executor.run({}, isCancelled)) return false;
    tokens_.assign(tokens.begin(), tokens.end());
    const Shape& shape = executor.plan().result("all_logits").type.shape;
    const auto row =
        executor.result("all_logits").subspan((tokens_.size() - 1) * static_cast<size_t>(shape.rowStride()));
    logits_.assign(row.begin(), row.begin() + info_.vocabulary);
    return true;
}

bool LanguageModel::feedComposed(std::span<const int> tokens, const Cancelled& isCancelled) {
    auto& step = steps_[capacity_];
    if (!step) {
        std::set<std::string> probes;
        for (int layer = 0; layer < info_.layers && options_.inspects; ++layer) probes.insert(hookPattern(layer));
        step = makeComposedStep(std::move(probes));
    }
    std::vector<int> all = tokens_;
    all.insert(all.end(), tokens.begin(), tokens.end());
    return runComposed(*step, all, isCancelled);
}

std::span<const float> LanguageModel::composedRow(int layer, int head, int query) const {
    const auto step = steps_.find(capacity_);
    if (step == steps_.end() || !step->second->executor->plan().results.contains(hookPattern(layer))) return {};
    const auto stride = static_cast<size_t>(Shape{capacity_}.rowStride());
    const auto row = static_cast<size_t>(head) * static_cast<size_t>(capacity_) + static_cast<size_t>(query); // [H,T,S]
    return step->second->executor->result(hookPattern(layer)).subspan(row * stride, tokens_.size());
}

PatternTile LanguageModel::composedTile(const SetViewCommand& view, int rows, int columns) const {
    PatternTile tile{.layer = view.layer,
                     .head = view.aggregate == HeadAggregate::None ? view.head : -1,
                     .rows = rows,
                     .columns = columns,
                     .queryBegin = view.queryBegin,
                     .queryEnd = view.queryEnd,
                     .keyBegin = view.keyBegin,
                     .keyEnd = view.keyEnd,
                     .values = std::vector<float>(static_cast<size_t>(rows) * static_cast<size_t>(columns), 0)};
    const bool isOne = view.aggregate == HeadAggregate::None;
    const int first = isOne ? view.head : 0, end = isOne ? view.head + 1 : info_.heads;
    const auto pixelOf = [](int at, int begin, int length, int pixels) {
        return static_cast<size_t>((at - begin) * static_cast<int64_t>(pixels) / length);
    };
    const auto count = static_cast<int>(tokens_.size());
    for (int query = view.queryBegin; query < std::min(view.queryEnd, count); ++query)
        for (int key = view.keyBegin; key < std::min(view.keyEnd, count); ++key) {
            float value = 0;
            for (int head = first; head < end; ++head) {
                const auto row = composedRow(view.layer, head, query);
                if (row.empty()) return tile;
                const float weight = row[static_cast<size_t>(key)];
                value = view.aggregate == HeadAggregate::Mean ? value + weight / static_cast<float>(end - first)
                                                              : std::max(value, weight);
            }
            const size_t at =
                pixelOf(query, view.queryBegin, view.queryEnd - view.queryBegin, rows) * static_cast<size_t>(columns) +
                pixelOf(key, view.keyBegin, view.keyEnd - view.keyBegin, columns);
            tile.values[at] = std::max(tile.values[at], value);
        }
    return tile;
}

} // namespace attn
