#include "tests/scope/scope_window.h"

#include <dlfcn.h>

using namespace attn;
using namespace attn::scope;

namespace {

/// How many of the next questions whether a device can present are answered with no.
int refusals = 0;

Options induction() { return {.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 500, .height = 400}; }

} // namespace

// Stands before the loader's own, which it calls.
extern "C" VKAPI_ATTR VkResult VKAPI_CALL vkGetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice device, uint32_t family,
                                                                               VkSurfaceKHR surface,
                                                                               VkBool32* isSupported) {
    static const auto real = reinterpret_cast<PFN_vkGetPhysicalDeviceSurfaceSupportKHR>(
        dlsym(RTLD_NEXT, "vkGetPhysicalDeviceSurfaceSupportKHR"));
    const VkResult result = real(device, family, surface, isSupported);
    if (refusals > 0) {
        --refusals;
        *isSupported = VK_FALSE;
    }
    return result;
}

TEST_CASE("two devices: what one computes another shows, to the pixel, and a sentence says so", "[scope][gpu]") {
    const auto coloursOf = [](ScopeWindow& window, const Screenshot& picture) {
        std::vector<int> all;
        for (int query = 0; query < 15; ++query)
            for (int key = 0; key < 15; ++key) {
                const auto colour = window.colourOf(picture, {query, key});
                all.insert(all.end(), {colour.red, colour.green, colour.blue});
            }
        return all;
    };
    std::vector<int> expected;
    {
        ScopeWindow window(induction());
        CHECK(&window.scope().presenter() == &window.scope().context());
        expected = coloursOf(window, window.picture());
    }
    Options apart = induction();
    apart.presentDevice = "0";
    ScopeWindow window(apart);
    REQUIRE(&window.scope().presenter() != &window.scope().context());
    CHECK(window.scope().subject().notice().find("images are copied between them") != std::string::npos);
    const Screenshot shown = window.picture();
    CHECK(coloursOf(window, shown) == expected);
    window.press("Up"); // another head comes over too
    CHECK(window.colourOf(window.picture(), {12, 11}).isNear(kOne));
    for (const char* view : {"1", "3", "4"}) { // the grid, the long-pattern view, tensors
        window.press(view);
        const Screenshot other = window.picture();
        CHECK(other.rgb != shown.rgb);
    }
    window.press("space"); // writing continues
    CHECK(window.scope().subject().tokenCount() == 16);
}

TEST_CASE("two devices: one that has no display gives its pictures to the one that has", "[scope][gpu]") {
    refusals = 1; // of the device that computes
    ScopeWindow window(induction());
    CHECK(refusals == 0);
    CHECK(&window.scope().presenter() != &window.scope().context());
    CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
}

TEST_CASE("two devices: where none has the display, the program says so", "[scope][gpu]") {
    refusals = 100;
    CHECK_THROWS_WITH(ScopeWindow(induction()), CONTAINS("cannot draw on this display"));
    refusals = 0;
}
