#include "engine/inference/view_graph.h"

#include "engine/attention/execution.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// The cached queries and keys of a source.
AttentionInputs cachedInputs(Graph& graph, const LongPatternSource& source) {
    const auto cache = [&](const std::string& name, int64_t count) {
        return graph.state(name, {.shape = {source.capacity, count, source.width}, .liveRows = StepScalar::KeyLength});
    };
    const Tensor positions = graph.state(
        source.positions, {.shape = {source.capacity}, .dtype = DType::I32, .liveRows = StepScalar::KeyLength});
    return {.q = cache(source.q, source.heads),
            .k = cache(source.k, source.groups),
            .v = {},
            .queryPosition = positions,
            .keyPosition = positions};
}

} // namespace

std::shared_ptr<Graph> viewGraph(const ModelSpec& config, int64_t capacity, const std::vector<int>& layers,
                                 int64_t heads, int64_t size, std::map<std::string, Tensor>& outputs) {
    auto graph = std::make_shared<Graph>();
    const Tensor window = graph->input("window", {.shape = {8}, .dtype = DType::I32});
    for (int layer : layers) {
        const LongPatternSource source = longPatternSource(config, capacity, layer);
        const AttentionInputs inputs = cachedInputs(*graph, source);
        outputs[fmt::format("tile.{}", layer)] =
            patternTile(inputs, attentionRowStatistics(inputs, window, source.rule), window, source.rule, heads, size);
    }
    return graph;
}

LongPatternSource longPatternSource(const ModelSpec& config, int64_t capacity, int layer) {
    const LayerAttention& attention = config.layers[static_cast<size_t>(layer)];
    const auto [heads, groups] = attention.heads();
    return {.q = inBlock(layer, "attn.cache_q"),
            .k = inBlock(layer, "attn.cache_k"),
            .positions = decoder_names::kCachePositions,
            .rule = kernelRule(attention.spec, capacity, attention.headWidth, layer).value(),
            .slopes = {},
            .capacity = capacity,
            .heads = heads,
            .groups = groups,
            .width = attention.headWidth,
            .hasLiveRows = true};
}

std::unique_ptr<GpuExecutor> longPatternStep(Device& device, TensorStore& store, const LongPatternSource& source,
                                             int64_t heads, int64_t rows, int64_t size, bool isFine) {
    const auto graph = std::make_shared<Graph>();
    const AttentionInputs in = cachedInputs(*graph, source);
    const Tensor slopes = graph->input("slopes", {.shape = {source.heads}});
    const auto words = [&](const char* name) { return graph->input(name, {.shape = {16}, .dtype = DType::I32}); };
    const Tensor statistics = lensStatistics(in, slopes, words("rows"), source.rule, rows, heads);
    const Tensor pixels =
        lensTile(in, slopes, statistics, words("view"), source.rule, Pooling::Maximum, isFine, size, size, heads);
    auto step =
        std::make_unique<GpuExecutor>(device, store, compile(graph, std::map<std::string, Tensor>{{"pixels", pixels}}));
    std::ranges::fill(step->input("slopes"), 0.0f);
    std::ranges::copy(source.slopes, step->input("slopes").begin());
    return step;
}

void runLongPatternStep(GpuExecutor& step, const LensBand& band, int64_t tokens) {
    std::ranges::copy(band.statisticsWords(), step.inputIntegers("rows").begin());
    std::ranges::copy(band.tileWords(), step.inputIntegers("view").begin());
    StepParams params;
    params[StepScalar::QueryLength] = params[StepScalar::KeyLength] = static_cast<uint32_t>(tokens);
    step.run(params);
}

} // namespace attn
