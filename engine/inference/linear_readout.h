#pragma once

#include "engine/models/model_spec.h"

#include <string>

namespace attn {

// The readout of a model from its last residual stream to the logits, with the divisor of the final norm held at its
// value in this run. It is linear, so the logits are the sum of what each term of the stream gives.
// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"

/// @param stream [T,C], in its graph  @param row Input I32 [1] of texts: the row that the readout reads
/// @return [1,V], or [1,classes]
/// @throws Error if there is no readout, or the final norm is not a layer norm or RMS norm of one residual stream
Tensor linearReadout(const ModelSpec& config, Tensor stream, Tensor row);

} // namespace attn
