#include "tests/scope/scope_window.h"

#include <dlfcn.h>

using namespace attn;
using namespace attn::scope;

namespace {

/// What the next calls of vkAcquireNextImageKHR answer instead of being made.
VkResult acquireFailure = VK_SUCCESS;
int acquireFailures = 0;

} // namespace

// Stands before the loader's own, which it calls.
extern "C" VKAPI_ATTR VkResult VKAPI_CALL vkAcquireNextImageKHR(VkDevice device, VkSwapchainKHR swapchain,
                                                                uint64_t timeout, VkSemaphore semaphore, VkFence fence,
                                                                uint32_t* index) {
    static const auto real = reinterpret_cast<PFN_vkAcquireNextImageKHR>(dlsym(RTLD_NEXT, "vkAcquireNextImageKHR"));
    if (acquireFailures > 0) {
        --acquireFailures;
        return acquireFailure;
    }
    return real(device, swapchain, timeout, semaphore, fence, index);
}

TEST_CASE("faults: a swapchain that is out of date is made again, and so is a lost surface", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 500, .height = 400});
    for (const VkResult failure : {VK_ERROR_OUT_OF_DATE_KHR, VK_ERROR_SURFACE_LOST_KHR}) {
        acquireFailure = failure;
        acquireFailures = 2;
        CHECK_FALSE(window.scope().drawFrame());
        CHECK_FALSE(window.scope().drawFrame());
        CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
        window.press("Up"); // keys still come
        CHECK(window.scope().subject().layer() == 0);
        window.press("Down");
    }
}

TEST_CASE("faults: a surface that stays lost is said", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwert", .width = 300, .height = 240});
    acquireFailure = VK_ERROR_SURFACE_LOST_KHR;
    acquireFailures = 3;
    window.scope().drawFrame();
    window.scope().drawFrame();
    CHECK_THROWS_WITH(window.scope().drawFrame(), CONTAINS("surface was lost"));
    acquireFailures = 0;
}
