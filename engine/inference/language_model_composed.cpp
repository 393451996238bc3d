#include "engine/core/error.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/head_profiler.h"
#include "engine/inference/step_plan.h"
#include "engine/models/hook_names.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

// Models with composed attention have no cache. Each step runs the whole context, and views read its patterns, or the
// factors of patterns. Contexts are short, because this program trains these models.

namespace attn {

bool LanguageModel::isComposed() const { return attn::isComposed(config()); }

std::unique_ptr<LanguageModel::Step> LanguageModel::makeComposedStep(std::set<std::string> probes) {
    const ModelGraph graph = wholeGraph(capacity_);
    std::erase_if(probes, [&](const std::string& name) { return !graph.graph->probes().contains(name); });
    auto step = std::make_unique<Step>();
    step->queries = capacity_;
    step->executor = executorOf(graph, {{"all_logits", graph.logits}}, probes, {.profiles = options_.profiles});
    return step;
}

void LanguageModel::writeWhole(GpuExecutor& executor, const Input& input) const {
    const std::vector<int>& tokens = input.tokens();
    const std::span<int32_t> ids = executor.inputIntegers(decoder_names::kTokens);
    std::ranges::fill(ids, 0);
    std::ranges::copy(tokens, ids.begin());
    if (executor.hasInput(decoder_names::kPositions)) {
        const auto positions = executor.inputIntegers(decoder_names::kPositions);
        for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int32_t>(i);
    }
    writeGates(executor);
    writeEdits(executor, 0, tokens.size());
}

ModelGraph LanguageModel::wholeGraph(int64_t rows, std::set<std::string> edited) const {
    edited.merge(editedHooks());
    return buildDecoder(config(), {.queries = isComposed() ? capacity_ : rows, .edited = std::move(edited)});
}

ModelGraph LanguageModel::wholeGraph(const Input& input, const WholeBuild& build) const {
    require(input);
    // The gradient of the fused kernel needs multiples of 4; a larger multiple lets similar lengths share kernels.
    constexpr int64_t kRows = 8;
    const auto tokens = static_cast<int64_t>(input.tokens().size());
    return wholeGraph(std::max(std::min((tokens + kRows - 1) / kRows * kRows, capacity_), tokens), build.edited);
}

bool LanguageModel::runComposed(Step& step, std::span<const int> tokens, const Cancelled& isCancelled) {
    GpuExecutor& executor = *step.executor;
    writeWhole(executor, std::vector<int>(tokens.begin(), tokens.end()));
    if (!executor.run({}, isCancelled)) return false;
    tokens_.assign(tokens.begin(), tokens.end());
    const Shape& shape = executor.plan().result("all_logits").type.shape;
    const auto row =
        executor.result("all_logits").subspan((tokens_.size() - 1) * static_cast<size_t>(shape.rowStride()));
    logits_.assign(row.begin(), row.begin() + info_.vocabulary);
    return true;
}

bool LanguageModel::feedComposed(std::span<const int> tokens, const Cancelled& isCancelled) {
    auto& step = currentSteps()[capacity_];
    if (!step) {
        std::set<std::string> probes;
        const std::set<std::string> edited = editedHooks();
        for (int layer = 0; layer < info_.layers && options_.inspects; ++layer) {
            // If there are factors, they are enough, and nothing grows with the square of the context. They do not
            // contain rows that changes set.
            const std::array factors{attentionHook(layer, "pattern") + "_queries",
                                     attentionHook(layer, "pattern") + "_keys"};
            if (std::ranges::find(info_.hooks, factors[0]) != info_.hooks.end() &&
                !edited.contains(attentionHook(layer, "pattern")))
                probes.insert(factors.begin(), factors.end());
            else
                probes.insert(attentionHook(layer, "pattern"));
        }
        step = makeComposedStep(std::move(probes));
    }
    std::vector<int> all = tokens_;
    all.insert(all.end(), tokens.begin(), tokens.end());
    return runComposed(*step, all, isCancelled);
}

std::vector<float> LanguageModel::composedRow(int layer, int head, int query, int keyBegin, int keyEnd) const {
    const Step* step = decodeStep();
    if (!step) return {};
    const GpuExecutor& executor = *step->executor;
    const auto rowOf = [&](const std::string& hook, int row) { // [H,T,columns]
        const Shape& shape = executor.plan().result(hook).type.shape;
        const auto at = static_cast<size_t>(head * shape[1] + row) * static_cast<size_t>(shape.rowStride());
        return executor.result(hook).subspan(at, static_cast<size_t>(shape.columns()));
    };
    const auto& results = executor.plan().results;
    const std::string pattern = attentionHook(layer, "pattern");
    if (results.contains(pattern)) {
        const auto row = rowOf(pattern, query);
        return {row.begin() + keyBegin, row.begin() + keyEnd};
    }
    if (!results.contains(pattern + "_queries")) return {};
    const auto q = rowOf(pattern + "_queries", query);
    const bool isCausal = config().layers[static_cast<size_t>(layer)].spec->mask.text() == "causal"; // else full
    std::vector<float> weights;
    for (int key = keyBegin; key < keyEnd; ++key) {
        const auto k = rowOf(pattern + "_keys", key);
        weights.push_back(isCausal && key > query ? 0.0f : std::inner_product(q.begin(), q.end(), k.begin(), 0.0f));
    }
    return weights;
}

PatternTile LanguageModel::composedTile(const PatternRequest& view, int rows, int columns) const {
    PatternTile tile{.site = view.site,
                     .head = view.aggregate == HeadAggregate::None ? view.head : -1,
                     .rows = rows,
                     .columns = columns,
                     .queryBegin = view.queryBegin,
                     .queryEnd = view.queryEnd,
                     .keyBegin = view.keyBegin,
                     .keyEnd = view.keyEnd,
                     .leavesOutFirst = view.hidesFirst,
                     .values = std::vector<float>(static_cast<size_t>(rows) * static_cast<size_t>(columns), 0)};
    const bool isOne = view.aggregate == HeadAggregate::None;
    const int first = isOne ? view.head : 0, end = isOne ? view.head + 1 : info_.heads;
    const auto pixelOf = [](int at, int begin, int length, int pixels) {
        return static_cast<size_t>((at - begin) * static_cast<int64_t>(pixels) / length);
    };
    const auto count = static_cast<int>(tokens_.size());
    const int queryEnd = std::min(view.queryEnd, count), keyEnd = std::max(view.keyBegin, std::min(view.keyEnd, count));
    for (int query = view.queryBegin; query < queryEnd; ++query) {
        std::vector<float> values(static_cast<size_t>(keyEnd - view.keyBegin), 0);
        for (int head = first; head < end; ++head) {
            auto row = composedRow(view.site, head, query, view.keyBegin, keyEnd);
            if (row.empty()) return tile;
            if (view.hidesFirst) {
                const std::vector<float> rest = composedRow(view.site, head, query, 1, std::max(count, 1));
                const double left = std::accumulate(rest.begin(), rest.end(), 0.0);
                for (float& weight : row) // 1e-6: rounding error of a row with all weight on the first token
                    weight = left > 1e-6 ? static_cast<float>(static_cast<double>(weight) / left) : 0;
                if (view.keyBegin == 0) row.front() = 0;
            }
            for (size_t key = 0; key < row.size(); ++key)
                values[key] = view.aggregate == HeadAggregate::Mean
                                  ? values[key] + row[key] / static_cast<float>(end - first)
                                  : std::max(values[key], row[key]);
        }
        for (int key = view.keyBegin; key < keyEnd; ++key) {
            const size_t at =
                pixelOf(query, view.queryBegin, view.queryEnd - view.queryBegin, rows) * static_cast<size_t>(columns) +
                pixelOf(key, view.keyBegin, view.keyEnd - view.keyBegin, columns);
            tile.values[at] = std::max(tile.values[at], values[static_cast<size_t>(key - view.keyBegin)]);
        }
    }
    return tile;
}

HeadProfile LanguageModel::composedProfile(int layer, int head) const {
    const auto count = static_cast<int>(tokens_.size());
    HeadProfile profile{.site = layer,
                        .head = head,
                        .received = std::vector<float>(static_cast<size_t>(count), 0),
                        .distances = std::vector<float>(kDistanceBins, 0)};
    for (int query = 0; query < count; ++query) {
        const std::vector<float> row = composedRow(layer, head, query, 0, count);
        if (row.empty()) return {.site = layer, .head = head};
        for (int key = 0; key < count; ++key) {
            const float weight = row[static_cast<size_t>(key)];
            profile.received[static_cast<size_t>(key)] += weight;
            profile.distances[std::bit_width(static_cast<uint32_t>(std::abs(query - key)))] +=
                weight / static_cast<float>(count);
            if (query > 0) keepLargest(profile.largest, {.query = query, .key = key, .weight = weight});
        }
    }
    return profile;
}

} // namespace attn
