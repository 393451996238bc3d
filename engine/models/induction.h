#pragma once

#include "engine/models/decoder.h"

#include <map>
#include <string>
#include <vector>

namespace attn {

/// A two-layer attention-only transformer over letters whose weights are set by formula. Layer 0 head 0 looks at the
/// previous letter; layer 1 head 0 looks for the letters that once followed the present one and predicts them. Layer 0
/// head 1 looks at its own position and layer 1 head 1 at everything alike; both write nothing.
///
/// Patterns are exact: with gap = kInductionGap, a row is the softmax of gap where the head's condition holds and 0
/// elsewhere (layer 0: to within 1e-4 by rounding).
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022,
/// arXiv:2209.11895
DecoderConfig inductionConfig();

/// Every parameter of the model, dense.
std::map<std::string, std::vector<float>> inductionWeights();

/// The letters in token order: 26 letters and the space.
std::vector<std::string> inductionAlphabet();

inline constexpr double kInductionGap = 14;
inline constexpr const char* kInductionExample = "attention is all you need attention is all you n";

} // namespace attn
