#pragma once

#include "engine/gpu/device_traits.h"

#include <vector>

namespace attn::gpu {

/// Lists every device of the Vulkan loader, usable or not. Empty if there is no driver.
std::vector<DeviceInfo> listDevices();

} // namespace attn::gpu
