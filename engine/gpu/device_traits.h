#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace attn::gpu {

enum class DeviceType : uint8_t { Discrete, Integrated, Virtual, Software, Other };

/// The properties of a device that the engine uses. They choose the kernels; a vendor's name never does.
struct DeviceTraits {
    std::string name{};
    DeviceType type = DeviceType::Other;
    std::string driver{};    ///< "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
    uint32_t apiVersion = 0; ///< as Vulkan packs it
    bool isSoftware = false;
    uint32_t subgroupSize = 0;
    uint64_t maxStorageBufferRange = 0;
    uint64_t maxTexelBufferElements = 0;
    uint32_t maxStorageBuffers = 0;               ///< that one shader can bind
    uint64_t minStorageBufferOffsetAlignment = 0; ///< bytes
    uint64_t minTexelBufferOffsetAlignment = 0;   ///< bytes
    uint64_t heapBytes = 0;                       ///< the largest device-local heap
    uint64_t maxAllocationBytes = 0;     ///< the largest single buffer; some cards allow only 4 GiB of a larger memory
    bool hostVisibleDeviceLocal = false; ///< the host can write device memory at full speed, without staging
    bool prefersTexelInputs = false;     ///< shaders should read inputs as texel buffers, not storage buffers
    bool prefersSubgroupTiles = false;   ///< register tiles of one small subgroup are faster than shared memory
    double timestampPeriodNs = 0;        ///< 0 if the queue has no timestamps
    std::array<uint32_t, 3> maxWorkGroupCount{};
    uint32_t maxWorkGroupInvocations = 0;
    uint32_t maxSharedMemoryBytes = 0;
    uint32_t maxPushConstantBytes = 0;
};

/// "discrete GPU", "software" and so on.
const char* deviceTypeName(DeviceType type);

/// One line of a device listing.
struct DeviceInfo {
    int index = 0;
    DeviceTraits traits{};
    std::string unusableBecause{}; ///< empty if the engine can run on it
    bool isDefault = false;        ///< the device that is chosen if none is named
};

} // namespace attn::gpu
