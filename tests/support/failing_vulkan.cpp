#include "tests/support/failing_vulkan.h"

#include <dlfcn.h>

// These definitions in the program stand before the ones of the Vulkan loader, which they call. So a device can be
// lost, and its memory run out, at a moment that the test chooses, and the engine needs no seam for it.

namespace attn::test {

FailingVulkan& failingVulkan() {
    static FailingVulkan instance;
    return instance;
}

} // namespace attn::test

using attn::test::failingVulkan;

extern "C" {

VKAPI_ATTR VkResult VKAPI_CALL vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits,
                                             VkFence fence) {
    static const auto real = reinterpret_cast<PFN_vkQueueSubmit>(dlsym(RTLD_NEXT, "vkQueueSubmit"));
    const VkResult failure = failingVulkan().submit.next();
    return failure != VK_SUCCESS ? failure : real(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                                const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
    static const auto real = reinterpret_cast<PFN_vkAllocateMemory>(dlsym(RTLD_NEXT, "vkAllocateMemory"));
    ++failingVulkan().allocations;
    const VkResult failure = failingVulkan().allocate.next();
    return failure != VK_SUCCESS ? failure : real(device, info, callbacks, memory);
}
}
