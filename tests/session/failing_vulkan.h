#pragma once

#include <vulkan/vulkan.h>

#include <atomic>

namespace attn::test {

/// What Vulkan calls of this test program answer instead of being made; VK_SUCCESS makes them.
struct FailingVulkan {
    std::atomic<VkResult> submit = VK_SUCCESS;   ///< vkQueueSubmit
    std::atomic<VkResult> allocate = VK_SUCCESS; ///< vkAllocateMemory
    std::atomic<int> allocations = 0;            ///< calls of vkAllocateMemory
};
FailingVulkan& failingVulkan();

/// Lets a call fail for the length of a scope.
class FailWith {
public:
    FailWith(std::atomic<VkResult>& call, VkResult result) : call_(call) { call_ = result; }
    ~FailWith() { call_ = VK_SUCCESS; }
    FailWith(const FailWith&) = delete;
    FailWith& operator=(const FailWith&) = delete;

private:
    std::atomic<VkResult>& call_;
};

} // namespace attn::test
