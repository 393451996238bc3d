#pragma once

#include "engine/models/model_builder.h"

#include <optional>
#include <string>

namespace attn {

/// Why a model with an encoder cannot have the composed attention of its sites, as a sentence that begins with the kind
/// of sites: "encoder", "decoder" or "cross". None: it can.
std::optional<std::string> siteProblem(const ModelSpec& config);

} // namespace attn
