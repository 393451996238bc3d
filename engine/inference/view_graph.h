#pragma once

#include "engine/inference/long_pattern_view.h"
#include "engine/models/model_builder.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// A graph that draws patterns: "tile.LAYER" for each layer is the pattern of its cached queries and keys at display
/// resolution (patternTile), for the range in the input "window".
/// @param capacity size of the caches, in tokens
/// @param heads    tiles per layer
/// @param size     pixels per side of a tile
std::shared_ptr<Graph> viewGraph(const ModelSpec& config, int64_t capacity, const std::vector<int>& layers,
                                 int64_t heads, int64_t size, std::map<std::string, Tensor>& outputs);

/// The source of a long-pattern view: the cached queries and keys of a layer.
LongPatternSource longPatternSource(const ModelSpec& config, int64_t capacity, int layer);

/// An executor that pools bands of several heads of a source exactly (lensStatistics, lensTile), to "pixels"
/// [heads * size, size].
/// @param rows   largest number of queries in a band
/// @param size   pixels per side
/// @param isFine whether a pixel covers fewer than four keys
std::unique_ptr<GpuExecutor> longPatternStep(Device& device, TensorStore& store, const LongPatternSource& source,
                                             int64_t heads, int64_t rows, int64_t size, bool isFine);
/// Runs such an executor for a band. @param tokens number of tokens in use
void runLongPatternStep(GpuExecutor& step, const LensBand& band, int64_t tokens);

} // namespace attn
