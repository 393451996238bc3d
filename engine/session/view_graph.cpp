#include "engine/session/view_graph.h"

#include <fmt/format.h>

namespace attn {

std::shared_ptr<Graph> viewGraph(const DecoderConfig& config, int64_t capacity, const std::vector<int>& layers,
                                 int64_t heads, int64_t size, std::map<std::string, Tensor>& outputs) {
    auto graph = std::make_shared<Graph>();
    const Tensor positions = graph->state(
        decoder_names::kCachePositions, {.shape = {capacity}, .dtype = DType::I32, .liveRows = StepScalar::KeyLength});
    const Tensor window = graph->input("window", {.shape = {8}, .dtype = DType::I32});
    for (int layer : layers) {
        const LayerAttention& spec = config.layers[static_cast<size_t>(layer)];
        const auto cache = [&](const char* letter, int64_t count) {
            return graph->state(fmt::format("blocks.{}.attn.cache_{}", layer, letter),
                                {.shape = {capacity, count, spec.heads.width}, .liveRows = StepScalar::KeyLength});
        };
        const AttentionInputs inputs{.q = cache("q", spec.heads.heads),
                                     .k = cache("k", spec.heads.keyValueHeads),
                                     .v = {},
                                     .queryPosition = positions,
                                     .keyPosition = positions};
        outputs[fmt::format("tile.{}", layer)] =
            patternTile(inputs, attentionRowStatistics(inputs, window, spec.rule), window, spec.rule, heads, size);
    }
    return graph;
}

LensSource lensSource(const DecoderConfig& config, int64_t capacity, int layer) {
    const LayerAttention& spec = config.layers[static_cast<size_t>(layer)];
    const auto cache = [&](char letter) { return fmt::format("blocks.{}.attn.cache_{}", layer, letter); };
    return {.q = cache('q'),
            .k = cache('k'),
            .positions = decoder_names::kCachePositions,
            .rule = spec.rule,
            .slopes = {},
            .capacity = capacity,
            .heads = spec.heads.heads,
            .groups = spec.heads.keyValueHeads,
            .width = spec.heads.width,
            .hasLiveRows = true};
}

} // namespace attn
