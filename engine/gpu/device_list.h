#pragma once

#include "engine/gpu/device_traits.h"

#include <vector>

namespace attn::gpu {

/// Lists every device that the Vulkan loader knows, usable or not. Empty if there is no driver.
std::vector<DeviceInfo> listDevices();

} // namespace attn::gpu
