#include "engine/runtime/device.h"

#include "engine/core/error.h"
#include "engine/gpu/context.h"
#include "engine/runtime/kernel_library.h"
#include "engine/system/environment.h"

#include <mutex>

namespace attn {

namespace {

/// @throws Error if ATTN_KERNELS has an unknown word, or if the host's kernels cannot reach the device's memory
bool wantsHost(const DeviceChoice& choice, const gpu::DeviceTraits& traits) {
    Kernels kernels = choice.kernels.value_or(Kernels::Auto);
    if (const auto word = environment::kernels(); word && !choice.kernels) {
        const auto named = kernelsNamed(*word);
        if (!named) throw Error({.what = "ATTN_KERNELS is not one of auto, shader, host", .where = *word, .hint = {}});
        kernels = *named;
    }
    const bool canUseHost = traits.isSoftware && traits.hostVisibleDeviceLocal;
    if (kernels == Kernels::Host && !canUseHost)
        throw Error({.what = "host kernels run only on a software device, whose memory the processor shares",
                     .where = traits.name,
                     .hint = "choose the kernels \"auto\" or \"shader\""});
    return canUseHost && kernels != Kernels::Shader;
}

} // namespace

std::optional<Kernels> kernelsNamed(const std::string& name) {
    if (name == "auto") return Kernels::Auto;
    if (name == "shader") return Kernels::Shader;
    if (name == "host") return Kernels::Host;
    return {};
}

struct Device::Impl {
    gpu::Context context;
    bool usesHost;
    KernelLibrary kernels{context};
};

Device::Device(const DeviceChoice& choice, const WindowExtensions& window)
    : impl_(new Impl{.context = gpu::Context({.device = choice.device,
                                              .validation = choice.validation,
                                              .instanceExtensions = window.instance,
                                              .deviceExtensions = window.device,
                                              .softwareThreads = choice.softwareThreads}),
                     .usesHost = false}) {
    impl_->usesHost = wantsHost(choice, traits());
}

Device::~Device() = default;

std::shared_ptr<Device> Device::shared(const DeviceChoice& choice) {
    struct Shared {
        DeviceChoice choice;
        std::weak_ptr<Device> device;
    };
    static std::mutex mutex;
    static std::vector<Shared> all;
    const std::lock_guard lock(mutex); // held while a device opens, so that others that ask for it wait
    std::erase_if(all, [](const Shared& shared) { return shared.device.expired(); });
    for (const Shared& shared : all) {
        auto device = shared.device.lock();
        if (!device || device->context().isLost()) continue;
        DeviceChoice same = shared.choice;
        if (!device->traits().isSoftware) same.softwareThreads = choice.softwareThreads; // a card ignores this number
        if (same == choice) return device;
    }
    auto device = std::make_shared<Device>(choice);
    all.push_back({choice, device});
    return device;
}

const gpu::DeviceTraits& Device::traits() const { return impl_->context.traits(); }
KernelTraits Device::kernelTraits() const {
    return {.subgroupSize = traits().subgroupSize,
            .prefersSubgroupTiles = traits().prefersSubgroupTiles && traits().subgroupSize == 8,
            .usesHost = impl_->usesHost,
            .maxStorageBufferRange = traits().maxStorageBufferRange,
            .maxStorageBuffers = traits().maxStorageBuffers};
}
uint64_t Device::allocatedBytes() const { return impl_->context.allocatedBytes(); }
uint64_t Device::freeBytes() const { return impl_->context.freeBytes(); }
size_t Device::kernelCount() const { return impl_->kernels.count(); }
bool Device::isFirstUse() const { return !impl_->usesHost && impl_->kernels.isFirstUse(); }
void Device::saveKernels() { impl_->kernels.save(); }
gpu::Context& Device::context() { return impl_->context; }
KernelLibrary& Device::kernels() { return impl_->kernels; }

} // namespace attn
