#include "engine/gpu/context.h"
#include "engine/gpu/device_list.h"

#include "engine/gpu/commands.h"
#include "engine/gpu/timeline.h"
#include "tests/gpu/gpu_test.h"
#include "tests/gpu/scoped_environment.h"

#include <atomic>

using namespace attn;
using namespace attn::gpu;

namespace {

PhysicalDevice fakeDevice(std::string name, DeviceType type, std::string unusableBecause = {}) {
    PhysicalDevice device;
    device.traits.name = std::move(name);
    device.traits.type = type;
    device.unusableBecause = std::move(unusableBecause);
    return device;
}

/// The text of the Error that the call throws; empty if it throws none.
template <typename Call> std::string errorOf(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("context: the listing names every device with its traits and marks one as the default", "[gpu]") {
    const auto devices = listDevices();
    REQUIRE_FALSE(devices.empty());
    CHECK(std::ranges::count_if(devices, &DeviceInfo::isDefault) == 1);
    for (size_t i = 0; i < devices.size(); ++i) {
        const auto& [index, traits, unusableBecause, isDefault] = devices[i];
        CHECK(index == static_cast<int>(i));
        CHECK_FALSE(traits.name.empty());
        if (!unusableBecause.empty()) continue;
        CHECK_FALSE(traits.driver.empty());
        CHECK(traits.apiVersion >= VK_API_VERSION_1_2);
        CHECK(traits.subgroupSize > 0);
        CHECK(traits.heapBytes > 0);
        CHECK(traits.maxAllocationBytes <= traits.heapBytes);
        CHECK(traits.maxStorageBufferRange >= 1u << 27); // what Vulkan guarantees
        CHECK(traits.maxPushConstantBytes >= 128);
        CHECK(traits.maxWorkGroupCount[0] >= 65535);
    }
}

TEST_CASE("context: a device can be named by index or by part of its name", "[gpu]") {
    const auto devices = listDevices();
    REQUIRE_FALSE(devices.empty());
    const auto chosen = std::ranges::find_if(devices, &DeviceInfo::isDefault);
    CHECK(Context({.device = std::to_string(chosen->index)}).traits().name == chosen->traits.name);
    CHECK(Context({.device = chosen->traits.name.substr(0, 5)}).traits().name == chosen->traits.name);

    const std::string error = errorOf([] { Context({.device = "no such card"}); });
    CHECK(mentions(error, "no such card"));
    CHECK(mentions(error, devices[0].traits.name)); // the remedy lists what there is
    CHECK(mentions(errorOf([] { Context({.device = "4096"}); }), "4096"));

    const ScopedEnvironment wanted("ATTN_DEVICE", "named by the environment");
    CHECK(mentions(errorOf([] { Context(Context::Options{}); }), "named by the environment"));
}

TEST_CASE("context: discrete comes before integrated, virtual and software; unusable devices are passed over",
          "[gpu]") {
    const std::vector<PhysicalDevice> devices{
        fakeDevice("llvmpipe", DeviceType::Software), fakeDevice("Virtio", DeviceType::Virtual),
        fakeDevice("Iris", DeviceType::Integrated), fakeDevice("GeForce", DeviceType::Discrete),
        fakeDevice("Old card", DeviceType::Discrete, "its driver lacks timeline semaphores")};
    const auto firstOf = [&](size_t count) {
        return chooseDevice({devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count)}, {});
    };
    CHECK(firstOf(1) == 0);
    CHECK(firstOf(2) == 1);
    CHECK(firstOf(3) == 2);
    CHECK(firstOf(5) == 3);
    CHECK(chooseDevice(devices, "LLVM") == 0);
    CHECK(mentions(errorOf([&] { chooseDevice(devices, "old"); }), "timeline semaphores"));
    CHECK(mentions(errorOf([&] { chooseDevice({devices[4]}, {}); }), "timeline semaphores"));
}

TEST_CASE("context: with no driver the error says what to install", "[gpu]") {
    CHECK(mentions(errorOf([] { chooseDevice({}, {}); }), "mesa-vulkan-drivers"));
    const ScopedEnvironment driverFiles("VK_DRIVER_FILES", "/nonexistent/driver.json");
    const ScopedEnvironment icdFiles("VK_ICD_FILENAMES", "/nonexistent/driver.json");
    CHECK(listDevices().empty());
    const std::string error = errorOf([] { Context(Context::Options{}); });
    CHECK(mentions(error, "no Vulkan"));
    CHECK(mentions(error, "mesa-vulkan-drivers"));
}

TEST_CASE("context: a missing validation layer is reported, not fatal", "[gpu]") {
    const ScopedEnvironment layers("VK_LAYER_PATH", "/nonexistent");
    const Context context({.validation = true});
    CHECK_FALSE(context.isValidating());
}

TEST_CASE("context: a missing extension is named", "[gpu]") {
    CHECK(mentions(errorOf([] { Context({.instanceExtensions = {"VK_NO_such_extension"}}); }), "VK_NO_such_extension"));
    CHECK(mentions(errorOf([] { Context({.deviceExtensions = {"VK_NO_such_extension"}}); }), "VK_NO_such_extension"));
}

TEST_CASE("context: synchronisation validation catches a missing barrier and names the objects", "[gpu]") {
    Context context({.validation = true});
    if (!context.isValidating()) {
        WARN("skipped: the Vulkan validation layer is not installed");
        return;
    }
    CHECK(context.validationMessages().empty());
    const Buffer from(context, {64, Placement::DeviceLocal, "from"});
    const Buffer to(context, {64, Placement::DeviceLocal, "overwritten twice"});
    CommandBuffer commands(context, "hasty copies");
    CommandRecorder recorder(commands);
    recorder.copy({.from = &from, .to = &to, .sizeBytes = 64});
    recorder.copy({.from = &from, .to = &to, .sizeBytes = 64});
    recorder.finish();
    const auto messages = context.validationMessages();
    REQUIRE(messages.size() == 1);
    CHECK(mentions(messages[0], "WRITE"));
    CHECK(mentions(messages[0], "overwritten twice"));
}

TEST_CASE("context: an inline and a pooled software device live in one process", "[gpu]") {
    TestContext inlined({.softwareThreads = 0});
    TestContext pooled;
    for (Context* context : {&*inlined, &*pooled}) {
        const Buffer buffer(*context, {1024, Placement::Readback, "filled"});
        CommandBuffer commands(*context, "fill");
        CommandRecorder recorder(commands);
        recorder.fill(buffer, 0, 1024, 0x01020304);
        recorder.barrier(Stages::Transfer, Stages::Host);
        recorder.finish();
        Timeline timeline(*context);
        REQUIRE(timeline.wait(timeline.submit(commands)));
        CHECK(std::ranges::all_of(buffer.mappedAs<uint32_t>(), [](uint32_t word) { return word == 0x01020304; }));
    }
}

TEST_CASE("vulkan: a lost device and exhausted memory have error types of their own", "[gpu]") {
    CHECK_NOTHROW(check(VK_SUCCESS, "vkCall"));
    CHECK_NOTHROW(check(VK_TIMEOUT, "vkCall"));
    CHECK_THROWS_AS(check(VK_ERROR_DEVICE_LOST, "vkCall"), DeviceLost);
    CHECK_THROWS_AS(check(VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkCall"), OutOfMemory);
    const std::string error = errorOf([] { check(VK_ERROR_INITIALIZATION_FAILED, "vkCall", "blocks.3"); });
    CHECK(error == "blocks.3: vkCall failed with VK_ERROR_INITIALIZATION_FAILED (-3)");
}

TEST_CASE("context: objects can be named while other devices come and go", "[gpu]") {
    Context context({.validation = true, .softwareThreads = 0});
    std::atomic<int> left = 200;
    const std::jthread others([&] {
        for (; left > 0; --left) Context({.softwareThreads = 0});
    });
    while (left > 0) context.setName(VK_OBJECT_TYPE_QUEUE, context.queue(), "queue");
    CHECK(context.validationMessages().empty());
}
