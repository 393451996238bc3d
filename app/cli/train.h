#pragma once

#include "engine/runtime/device.h"

#include <string>

namespace attn::cli {

/// Continues a training run from its last checkpoint, or begins it if it has none.
/// @param folder with its recipe.json  @return the exit code of `train`
int continueTraining(const std::string& folder, const DeviceChoice& device);

} // namespace attn::cli
