#pragma once

#include "engine/models/decoder.h"
#include "engine/session/attention_lens.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// A graph that only looks: for each of some layers "tile.LAYER", the pattern of its cached queries and keys at display
/// resolution (patternTile), with the input "window".
/// @param capacity tokens that the caches have room for
/// @param heads    tiles of each layer
/// @param size     pixels on a side of a tile
std::shared_ptr<Graph> viewGraph(const DecoderConfig& config, int64_t capacity, const std::vector<int>& layers,
                                 int64_t heads, int64_t size, std::map<std::string, Tensor>& outputs);

/// What a lens looks at: the cached queries and keys of a layer, as they meet.
LensSource lensSource(const DecoderConfig& config, int64_t capacity, int layer);

/// Pools bands of several heads of a source at once, exactly (lensStatistics, lensTile), as "pixels" [heads * size,
/// size].
/// @param rows   of queries in a band at most
/// @param size   pixels on a side
/// @param isFine whether a pixel covers fewer than four keys
std::unique_ptr<GpuExecutor> lensStep(gpu::Context& context, KernelLibrary& kernels, TensorStore& store,
                                      const LensSource& source, int64_t heads, int64_t rows, int64_t size, bool isFine);
/// Runs it for a band. @param tokens that are in use
void runLensStep(GpuExecutor& step, const LensBand& band, int64_t tokens);

} // namespace attn
