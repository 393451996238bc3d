#pragma once

#include "app/scope/window.h"

#include <optional>
#include <string>

namespace attn::scope {

/// The device that shows what another one computes.
/// @param computes as gpu::Context::Options::device
/// @param wanted likewise; empty: the one that computes, or the best of the others where it cannot show pictures here
/// @return none where one device does both, else its index
/// @throws Error where no device can show pictures on this display
std::optional<std::string> presenterFor(const DisplayConnection& display, const Window& window,
                                        const std::optional<std::string>& computes, const std::string& wanted);

} // namespace attn::scope
