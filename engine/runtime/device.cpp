#include "engine/runtime/device.h"

#include "engine/gpu/context.h"
#include "engine/runtime/kernel_library.h"

#include <mutex>

namespace attn {

struct Device::Impl {
    gpu::Context context;
    KernelLibrary kernels{context};
};

Device::Device(const DeviceChoice& choice, const WindowExtensions& window)
    : impl_(new Impl{.context = gpu::Context({.device = choice.device,
                                              .validation = choice.validation,
                                              .instanceExtensions = window.instance,
                                              .deviceExtensions = window.device,
                                              .softwareThreads = choice.softwareThreads})}) {}

Device::~Device() = default;

std::shared_ptr<Device> Device::shared(const DeviceChoice& choice) {
    struct Shared {
        DeviceChoice choice;
        std::weak_ptr<Device> device;
    };
    static std::mutex mutex;
    static std::vector<Shared> all;
    const std::lock_guard lock(mutex); // also while a device opens: others that ask for it wait
    std::erase_if(all, [](const Shared& shared) { return shared.device.expired(); });
    for (const Shared& shared : all) {
        auto device = shared.device.lock();
        if (!device || device->context().isLost()) continue;
        DeviceChoice same = shared.choice;
        if (!device->traits().isSoftware) same.softwareThreads = choice.softwareThreads; // which a card ignores
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
            .maxStorageBufferRange = traits().maxStorageBufferRange,
            .maxStorageBuffers = traits().maxStorageBuffers};
}
uint64_t Device::allocatedBytes() const { return impl_->context.allocatedBytes(); }
uint64_t Device::freeBytes() const { return impl_->context.freeBytes(); }
size_t Device::kernelCount() const { return impl_->kernels.count(); }
bool Device::isFirstUse() const { return impl_->kernels.isFirstUse(); }
void Device::saveKernels() { impl_->kernels.save(); }
gpu::Context& Device::context() { return impl_->context; }
KernelLibrary& Device::kernels() { return impl_->kernels; }

} // namespace attn
