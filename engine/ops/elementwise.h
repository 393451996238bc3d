#pragma once

#include "engine/ops/ops.h"

namespace attn {

/// Applies an activation to one number, in double. @source Hendrycks and Gimpel 2016, "GELU", arXiv:1606.08415 (erf and
/// tanh forms)
double activationValue(Activation activation, double x);
/// The derivative of an activation at x.
double activationDerivative(Activation activation, double x);

} // namespace attn
