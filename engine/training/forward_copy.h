#pragma once

#include "engine/training/objective.h"

#include <functional>
#include <memory>
#include <string>

namespace attn {

/// An input, parameter or state of another graph, with the same name after a prefix.
Tensor sourceLike(const Node& node, Graph& to, const std::string& prefix = {});

/// Adds a forward pass to another graph, in the same order.
/// @param source the tensor to read in place of an input, a parameter or a state
Objective::Forward copyOf(Objective::Forward forward, const std::shared_ptr<Graph>& to,
                          const std::function<Tensor(const Node& source)>& source);

/// Adds a model that training does not change to the graph of another. Its parameters, states and constants get a
/// prefix, and so do inputs that are not of the batch: those of sites, such as gates.
Objective::Forward beside(const std::shared_ptr<Graph>& graph, Objective::Forward other, const std::string& prefix);

/// A copy of a forward pass with activations in 16 bits, which the backward pass then also has until the keeper of the
/// graph is removed: see keeperIn16Bits(). @param dtype F16 or BF16
Objective::Forward in16Bits(Objective::Forward forward, DType dtype);

} // namespace attn
