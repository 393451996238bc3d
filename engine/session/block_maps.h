#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/session/playground_map.h"

#include <cstdint>
#include <vector>

namespace attn {

namespace gpu {
class Context;
}
class KernelLibrary;

/// Pictures of the block parts that a spec says, from a small model of layers of the spec, one after another, with
/// weights as training begins them and tokens from a seed:
/// "norm.before", "norm.after" [T,C]: rows whose lengths rise from the first token to the last;
/// "feed_forward.hidden" [T,F]: the hidden features of the last layer;
/// "residual.lengths" [2 layers + 1, T]: root mean square of the stream, before the first sublayer and after each;
/// "layers.updates" [layers, layers]: cosines between what layers add to the stream.
/// @param width of a head  @return none where the spec says no block part  @throws Error as check()
std::vector<PlaygroundMap> blockMaps(gpu::Context& context, KernelLibrary& kernels, const AttentionSpec& spec,
                                     int64_t tokens, int64_t width, uint64_t seed);

} // namespace attn
