#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kNoPosition, kSinusoidalPosition, kLearnedPosition, kShawPosition, kTransformerXlPosition,
    kT5Position, kToeplitzPosition, kRotaryPosition, kAlibiPosition, kDistanceAwarePosition, kSinusoidal2dPosition,
    kLearned2dPosition, kGridBiasPosition, kLogBiasPosition, kUniversalPosition, kEtcPosition, kTupePosition,
    kDependencyTreePosition;

} // namespace attn
