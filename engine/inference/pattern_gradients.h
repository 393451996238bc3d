#pragma once

#include "engine/models/patch_stream.h"

#include <vector>

namespace attn {

/// Adds d loss / d pattern of every layer to the graph. A fused kernel forms no pattern; its gradient is dz . v^T,
/// because z = pattern . v for each head.
/// @param loss one element, computed from the encoder
/// @return one per layer: [H,T,T], with windows [windows,H,places,places]; null if it forms no pattern
std::vector<Tensor> patternGradients(const ModelGraph& encoder, Tensor loss);

} // namespace attn
