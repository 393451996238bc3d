#include "app/cli/command.h"

#include "engine/gpu/device_list.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attn::cli {

void addDevices(Command& command) {
    command.about("A star marks the device that is used unless --device or ATTN_DEVICE names another one.");
    const auto json = std::make_shared<bool>(false);
    addJson(command, *json);
    command.example("attention-cli devices");
    command.action([=] {
        const auto devices = gpu::listDevices();
        nlohmann::json list = nlohmann::json::array();
        for (const gpu::DeviceInfo& device : devices) {
            const gpu::DeviceTraits& traits = device.traits;
            const std::string type = gpu::deviceTypeName(traits.type);
            const std::string version = fmt::format("{}.{}.{}", traits.apiVersion >> 22 & 127,
                                                    traits.apiVersion >> 12 & 1023, traits.apiVersion & 4095);
            list.push_back({{"index", device.index},
                            {"name", traits.name},
                            {"type", type},
                            {"driver", traits.driver},
                            {"vulkan", version},
                            {"heapBytes", traits.heapBytes},
                            {"subgroupSize", traits.subgroupSize},
                            {"default", device.isDefault},
                            {"unusableBecause", device.unusableBecause}});
            if (*json) continue;
            fmt::print("{} {}: {} ({}), Vulkan {}, {:.1f} GiB{}\n", device.isDefault ? '*' : ' ', device.index,
                       traits.name, type, version, static_cast<double>(traits.heapBytes) / (1 << 30),
                       device.unusableBecause.empty() ? "" : ", unusable: " + device.unusableBecause);
        }
        if (*json)
            print(list);
        else if (devices.empty())
            fmt::print("no Vulkan device was found; install a driver, for example software Vulkan (Debian and Ubuntu: "
                       "mesa-vulkan-drivers)\n");
        return devices.empty() ? kFailed : kDone;
    });
}

} // namespace attn::cli
