#pragma once

#include "engine/runtime/device.h"

#include <string>

namespace attn {

class Trainer;

/// Objective::startSentence(), and before the first step the validation losses with which training starts: with the
/// model's own attention and with the one that the recipe gives it. Measures both models.
/// @param choice the trainer's device  @return empty unless the recipe replaces attention
std::string startSentence(Trainer& trainer, const DeviceChoice& choice);

} // namespace attn
