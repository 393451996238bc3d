#pragma once

#include "engine/models/model_source.h"

namespace attn {

/// The constructed model as something to load: "builtin:induction".
std::unique_ptr<ModelSource> makeInductionSource();

} // namespace attn
