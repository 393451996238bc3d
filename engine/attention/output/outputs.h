#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kPlainOutput, kTalkingOutput, kGatedOutput;

} // namespace attn
