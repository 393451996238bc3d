#pragma once

#include "engine/gpu/device_traits.h"
#include "engine/graph/dispatch.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

namespace gpu {
class Context;
}
class KernelLibrary;

/// The kernels that compute the operations.
enum class Kernels : uint8_t {
    Auto,   ///< host kernels on software Vulkan, where the processor is the device; else shaders
    Shader, ///< shaders alone
    Host    ///< host kernels, wherever an operation has one
};

/// "auto", "shader" or "host". @return empty for another name
std::optional<Kernels> kernelsNamed(const std::string& name);

/// The device that a program computes on, as its user chose it.
struct DeviceChoice {
    std::optional<std::string> device{};  ///< part of its name, or its index; empty: ATTN_DEVICE, else the best
    std::optional<int> softwareThreads{}; ///< threads of software Vulkan; empty: its default, or what suits a model
    bool validation = false;              ///< ATTN_VALIDATION=1 also enables it
    std::optional<Kernels> kernels{};     ///< empty: ATTN_KERNELS, else Auto
    bool operator==(const DeviceChoice&) const = default;
};

/// The Vulkan extensions that a window needs to draw on a device.
struct WindowExtensions {
    std::vector<const char*> instance{}, device{};
};

/// A device and its compiled kernels. Its members may be used from any thread. All objects on it must be destroyed
/// before it.
class Device {
public:
    /// @throws Error if there is no driver, no usable device, or an extension is missing
    explicit Device(const DeviceChoice& choice, const WindowExtensions& window = {});
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// The device of a choice, which all who hold it share. Software Vulkan is one device for each number of threads. A
    /// lost device is opened again.
    /// @throws Error as the constructor
    static std::shared_ptr<Device> shared(const DeviceChoice& choice);

    const gpu::DeviceTraits& traits() const;
    const std::string& name() const { return traits().name; }
    KernelTraits kernelTraits() const; ///< the traits by which ops choose kernels
    uint64_t allocatedBytes() const;   ///< device memory in all present buffers
    uint64_t freeBytes() const;        ///< an estimate; other programs use the device too

    size_t kernelCount() const; ///< kernels compiled so far; each costs about 50 ms on software Vulkan

    /// Whether no earlier start of the program has left compiled kernels on disk: the first runs take seconds. Host
    /// kernels need no such time.
    bool isFirstUse() const;
    /// Writes what the driver has compiled to disk now; else this happens when the device is destroyed.
    void saveKernels();

    gpu::Context& context(); ///< for what draws on the device
    KernelLibrary& kernels();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace attn
