#include "engine/inference/language_model.h"
#include "engine/runtime/device.h"
#include "tests/session/session_test.h"
#include "tests/support/failing_vulkan.h"

using namespace attn;
using namespace attn::test;

namespace {

constexpr DeviceChoice kInline{.softwareThreads = 0, .validation = true};

LanguageModel induction(const DeviceChoice& device = kInline) {
    return LanguageModel(openModelSource(kInduction), {.device = device});
}

std::vector<float> logitsAfter(LanguageModel& model, std::span<const int> tokens) {
    model.truncate(0);
    if (!model.feed(tokens)) return {};
    const std::span<const float> logits = model.logits();
    return {logits.begin(), logits.end()};
}

} // namespace

TEST_CASE("shared device: models on the same choice lie on one device, which ends with the last", "[session][gpu]") {
    std::weak_ptr<Device> kept;
    {
        const LanguageModel first = induction(), second = induction();
        const auto device = Device::shared(kInline);
        kept = device;
        CHECK(device.use_count() == 3);
        CHECK(static_cast<uint64_t>(first.deviceBytes()) == device->allocatedBytes());
        const bool isSame = Device::shared({.softwareThreads = 1, .validation = true}).get() == device.get();
        CHECK(isSame == !device->traits().isSoftware); // a card ignores the number of threads
    }
    CHECK(kept.expired());
}

TEST_CASE("shared device: two models that run at once give what they give alone", "[session][gpu]") {
    LanguageModel first = induction(), second = induction();
    const std::vector<int> tokens{1, 2, 3, 4, 1, 2}, others{9, 8, 7, 9, 8};
    const std::vector<float> alone = logitsAfter(first, tokens), otherAlone = logitsAfter(second, others);
    REQUIRE(!alone.empty());
    int differences = 0;
    std::thread other([&] {
        for (int i = 0; i < 20; ++i)
            if (logitsAfter(second, others) != otherAlone) ++differences;
    });
    for (int i = 0; i < 20; ++i) CHECK(logitsAfter(first, tokens) == alone);
    other.join();
    CHECK(differences == 0);
}

TEST_CASE("shared device: a lost one is opened again for the next who asks", "[session][gpu]") {
    LanguageModel model = induction(kShaderDevice);
    const auto lost = Device::shared(kShaderDevice);
    {
        const FailWith failing(failingVulkan().submit, VK_ERROR_DEVICE_LOST);
        CHECK_THROWS_WITH(model.feed(std::vector{1, 2}), CONTAINS("VK_ERROR_DEVICE_LOST"));
    }
    const auto next = Device::shared(kShaderDevice);
    CHECK(next.get() != lost.get());
    LanguageModel again = induction(kShaderDevice);
    CHECK(&again.device() == next.get());
    REQUIRE(again.feed(std::vector{1, 2}));
}
