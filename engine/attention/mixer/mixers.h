#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kAttentionMixer, kFourierMixer, kMlpMixer, kFastWeightMixer, kDeltaRuleMixer, kElmanMixer, kLstmMixer,
    kGruMixer;

} // namespace attn
