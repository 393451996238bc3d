#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kSoftmaxNormaliser, kLinearNormaliser, kRandomFeatureNormaliser, kPerformerNormaliser,
    kEfficientNormaliser, kRunningEfficientNormaliser, kXcitNormaliser, kAftNormaliser, kSimpleAftNormaliser,
    kLocalAftNormaliser, kConvolvedAftNormaliser, kLinformerNormaliser, kReformerNormaliser, kRoutingNormaliser,
    kCompressedNormaliser;

} // namespace attn
