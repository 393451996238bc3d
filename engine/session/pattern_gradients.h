#pragma once

#include "engine/models/vision_encoder.h"

#include <vector>

namespace attn {

/// d loss / d pattern of every layer, as more graph. A fused kernel forms no pattern, but z = pattern . v of each head
/// makes its gradient dz . v^T.
/// @param loss one element, made from the encoder
/// @return of each layer [H,T,T], of windows [windows,H,places,places]; null where it forms no pattern
std::vector<Tensor> patternGradients(const VisionGraph& encoder, Tensor loss);

} // namespace attn
