#pragma once

#include "engine/models/model_builder.h"

#include <map>
#include <string>
#include <vector>

namespace attn {

/// A two-layer attention-only transformer over letters, with parameters that are set by formula. Layer 0, head 0
/// attends to the previous letter. Layer 1, head 0 attends to letters that followed earlier copies of the current
/// letter, and predicts them. Layer 0, head 1 attends to the current letter, and layer 1, head 1 attends evenly to all
/// letters; both write nothing.
///
/// Patterns are known exactly: the scores of a row are kInductionGap at keys that fulfil the head's condition and 0
/// elsewhere (in layer 0 within 1e-4, because of rounding).
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022,
/// arXiv:2209.11895
ModelSpec inductionConfig();

/// Dense values of all parameters, by the engine's names.
std::map<std::string, std::vector<float>> inductionWeights();

/// The letters in token order: 26 letters and the space.
std::vector<std::string> inductionAlphabet();

inline constexpr double kInductionGap = 14;
/// No letter occurs twice in the word, so each is followed by one other alone, and the answer is certain.
inline constexpr const char* kInductionExample = "playground playground playg";

} // namespace attn
