#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kNoNormPart, kLayerNormPart, kRmsNormPart, kScaleNormPart, kFixNormPart;
extern const Part kReluFeedForward, kGeluFeedForward, kSwigluFeedForward;
extern const Part kNoResidual, kPreNormResidual, kLayerScaleResidual, kParallelResidual, kPostNormResidual,
    kResidualPostNorm, kGruGateResidual, kReversibleResidual, kPatchResidual, kAxialResidual;
extern const Part kStackedLayers, kSharedLayers;

} // namespace attn
