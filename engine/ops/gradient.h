#pragma once

#include "engine/graph/graph.h"

#include <span>
#include <vector>

namespace attn {

/// d loss / d source for every source, as more graph (reverse-mode differentiation).
/// @param loss    one element
/// @param sources any tensors of the graph, usually parameters
/// @return one tensor per source, of its shape; null where the loss does not depend on it
/// @throws Error if the loss flows through an op that has no gradient
std::vector<Tensor> gradient(Tensor loss, std::span<const Tensor> sources);

} // namespace attn
