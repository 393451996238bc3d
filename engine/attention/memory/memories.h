#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kNoMemory, kSegmentMemory, kNearestMemory;

} // namespace attn
