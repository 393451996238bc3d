#pragma once

#include "app/scope/window.h"

#include <optional>
#include <string>

namespace attn::scope {

/// Chooses the device that drives the display, if it is not the computing device.
/// @param computes the computing device, as in gpu::Context::Options::device
/// @param wanted the showing device, in the same form; empty: the computing device, or the best other one if that
/// cannot draw on this display
/// @return the index of the showing device; none if one device does both
/// @throws Error if no device can draw on this display
std::optional<std::string> presenterFor(const DisplayConnection& display, const Window& window,
                                        const std::optional<std::string>& computes, const std::string& wanted);

} // namespace attn::scope
