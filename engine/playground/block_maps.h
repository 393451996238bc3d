#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/playground/playground_map.h"

#include <cstdint>
#include <vector>

namespace attn {

class Device;

/// Matrices that show the block parts of a spec, from a small model with layers of the spec, initial parameters and
/// random tokens:
/// "norm.before", "norm.after" [T,C]: rows with lengths that rise from the first token to the last;
/// "feed_forward.hidden" [T,F]: the hidden features of the last layer;
/// "residual.lengths" [2 layers + 1, T]: root mean square of the residual stream, before the first sublayer and after
/// each; [layers + 1, T] where both sublayers read one stream;
/// "layers.updates" [layers, layers]: cosines between the terms that layers add to the residual stream.
/// @param width of a head  @return empty if the spec has no block part  @throws Error as check()
std::vector<PlaygroundMap> blockMaps(Device& device, const AttentionSpec& spec, int64_t tokens, int64_t width,
                                     uint64_t seed);

} // namespace attn
