#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kScaledDotScore, kDotScore, kAdditiveScore, kBilinearScore, kCosineScore, kLearnedCosineScore,
    kRandomSynthesizerScore;

} // namespace attn
