#pragma once

#include "engine/graph/graph.h"

#include <span>
#include <vector>

namespace attn {

/// Adds d loss / d source for every source to the graph, by reverse-mode differentiation.
/// @param loss    one element
/// @param sources any tensors of the graph, usually parameters
/// @param recomputed nodes whose values the backward pass computes again instead of keeping them from the forward pass:
///                   gradient checkpointing (Chen et al. 2016, arXiv:1604.06174, section 4.1)
/// @return one tensor per source, of its shape; null if the loss does not depend on it
/// @throws Error if the loss flows through an op that has no gradient
std::vector<Tensor> gradient(Tensor loss, std::span<const Tensor> sources, std::span<const NodeRange> recomputed = {});

} // namespace attn
