#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kOneProjection, kGlobalProjections;

} // namespace attn
