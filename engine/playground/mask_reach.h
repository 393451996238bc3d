#pragma once

#include "engine/attention/mask/expression.h"

#include <vector>

namespace attn {

/// Computes the receptive field of `query`: the number of layers after which each key can influence its output. With
/// R_0 = I and M_l the mask of layer l, R_l = R_{l-1} or M_l R_{l-1}, because the residual stream keeps every token.
/// @param size   of a self-attention: as many keys as queries; its layer is ignored
/// @param layers 0 or more; layer 0 is the lowest and uses the first operand of `per_layer`
/// @return [T]: 0 for the query itself, l for a key that needs l layers, -1 for a key that needs more than `layers`
/// @throws Error if keys and queries differ in number, or like MaskExpression::row
std::vector<int> layersToReach(const MaskExpression& mask, MaskSize size, int64_t query, int layers);

} // namespace attn
