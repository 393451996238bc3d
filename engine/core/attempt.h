#pragma once

#include "engine/core/failure.h"

#include <functional>
#include <optional>
#include <string>

namespace attn {

/// Runs `work` and turns what it throws into a value: the one place where exceptions of the engine end.
/// @param where place for failures that do not name one  @param remedy what to do if the memory was too short
/// @return the failure; none: success
std::optional<Failure> attempt(const std::string& where, const std::function<void()>& work,
                               const std::string& remedy = "choose fewer tokens or heads");

} // namespace attn
