#pragma once

#include "engine/models/decoder.h"
#include "engine/models/vision_config.h"

#include <string>

namespace attn {

// The readout of a model from its last residual stream to the logits, with the divisor of the final norm held at its
// value in this run. It is linear, so the logits are the sum of what each term of the stream gives.
// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"

/// @param stream [T,C], in its graph  @param row Input I32 [1]: the row that the readout reads
/// @return [1,V], or [1,classes] of a decoder that answers with classes
/// @throws Error if the final norm is not a layer norm or RMS norm of one residual stream
Tensor linearReadout(const DecoderConfig& config, Tensor stream, Tensor row);
/// @param stream [T,C], in its graph  @return [1,classes]  @throws Error as above
Tensor linearReadout(const VisionConfig& config, Tensor stream);

} // namespace attn
