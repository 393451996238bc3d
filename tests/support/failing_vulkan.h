#pragma once

#include "engine/gpu/device_errors.h"
#include "tests/support/catch.h"

#include <vulkan/vulkan.h>

#include <atomic>

namespace attn::test {

/// What a Vulkan call of this test program answers instead of being made; VK_SUCCESS makes it.
struct FailingCall {
    std::atomic<VkResult> result = VK_SUCCESS;
    std::atomic<int> left = 0; ///< calls that are made before it fails

    VkResult next() { return result == VK_SUCCESS || left-- > 0 ? VK_SUCCESS : result.load(); }
};

struct FailingVulkan {
    FailingCall submit;               ///< vkQueueSubmit
    FailingCall allocate;             ///< vkAllocateMemory
    std::atomic<int> allocations = 0; ///< calls of vkAllocateMemory
};
FailingVulkan& failingVulkan();

/// Lets a call fail for the length of a scope.
class FailWith {
public:
    /// @param after number of calls that are still made
    FailWith(FailingCall& call, VkResult result, int after = 0) : call_(call) {
        call_.left = after;
        call_.result = result;
    }
    ~FailWith() { call_.result = VK_SUCCESS; }
    FailWith(const FailWith&) = delete;
    FailWith& operator=(const FailWith&) = delete;

private:
    FailingCall& call_;
};

/// Does work on a device that is full after so many allocations, for every number of them that is too small for the
/// work. @param check called after each failure, when there is room again  @return the number that is enough
template <class Work, class Check> int onFullDevice(const Work& work, const Check& check) {
    for (int allocations = 0;; ++allocations) {
        INFO("room for " << allocations << " allocations");
        try {
            const FailWith full(failingVulkan().allocate, VK_ERROR_OUT_OF_DEVICE_MEMORY, allocations);
            work();
            return allocations;
        } catch (const gpu::OutOfMemory&) { // as it should be
        }
        check();
    }
}

} // namespace attn::test
