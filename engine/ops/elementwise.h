#pragma once

#include "engine/ops/ops.h"

namespace attn {

/// The activation on one number, in double. @source Hendrycks and Gimpel 2016, "GELU", arXiv:1606.08415 (erf and tanh
/// forms)
double activationValue(Activation activation, double x);
/// Its derivative.
double activationDerivative(Activation activation, double x);

} // namespace attn
