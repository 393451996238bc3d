#pragma once

#include "engine/training/objective.h"

#include <functional>
#include <memory>

namespace attn {

/// Adds a forward pass to another graph, in the same order.
/// @param parameter the tensor to read in place of a parameter
Objective::Forward copyOf(Objective::Forward forward, const std::shared_ptr<Graph>& to,
                          const std::function<Tensor(const Node& parameter)>& parameter);

/// A copy of a forward pass with activations in 16 bits, which the backward pass then also has until the keeper of the
/// graph is removed: see keeperIn16Bits(). @param dtype F16 or BF16
Objective::Forward in16Bits(Objective::Forward forward, DType dtype);

} // namespace attn
