#pragma once

#include "engine/gpu/device_traits.h"

#include <vector>

namespace attn::gpu {

/// Every device the Vulkan loader knows, usable or not. Empty when there is no driver.
std::vector<DeviceInfo> listDevices();

} // namespace attn::gpu
