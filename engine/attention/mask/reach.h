#pragma once

#include "engine/attention/mask/expression.h"

#include <vector>

namespace attn {

/// How many layers it takes until what stands at each key can have reached the output at `query`: the receptive field
/// as it grows. With R_0 = I and M_l the mask of layer l, R_l = R_{l-1} or M_l R_{l-1}: the residual stream keeps what
/// a layer does not look at.
/// @param size  self-attention: as many keys as queries; its layer is not read
/// @param layers from 0 upwards; layer 0 is the lowest, with the expression's first operand of `per_layer`
/// @return [T] 0 for the query itself, l for a key that first reaches it with l layers, -1 for one that `layers` layers
///         do not bring
/// @throws Error if keys and queries differ in number, or like MaskExpression::row
std::vector<int> layersToReach(const MaskExpression& mask, MaskSize size, int64_t query, int layers);

} // namespace attn
