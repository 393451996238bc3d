#pragma once

#include "engine/graph/graph.h"

#include <memory>

namespace attn {

/// Rounds to 16 bits, to nearest even: numbers beyond 65504 become infinite in F16, and those below 2^-25 zero.
/// The gradient passes.
/// @param dtype F16 or BF16  @return the same shape
Tensor narrow(Tensor x, DType dtype);
/// The numbers of narrow() as floats. The gradient passes.
Tensor widen(Tensor x);

/// Lets the operations that are added from now on keep activations and their gradients in 16 bits: results of products,
/// attention, norms and activations are rounded, every later operation reads the rounded numbers, and from the forward
/// to the backward pass only these remain in memory. Products also read their other operands rounded: matrices of
/// parameters, of which the parameters themselves stay f32. All kernels compute and add in f32; statistics of rows,
/// losses and the gradients of parameters stay f32.
/// @param dtype F16 or BF16
/// @source Micikevicius et al. 2018, "Mixed Precision Training", arXiv:1710.03740, sections 3.1 and 3.3
std::shared_ptr<Graph::Keeper> keeperIn16Bits(Graph& graph, DType dtype);

} // namespace attn
