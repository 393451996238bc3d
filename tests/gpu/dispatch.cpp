#include "engine/gpu/commands.h"
#include "engine/gpu/profiler.h"
#include "engine/gpu/timeline.h"
#include "engine/gpu/transfer.h"
#include "tests/gpu/gpu_test.h"

using namespace attn;
using namespace attn::gpu;

namespace {

constexpr uint32_t kTexels = 1000; // not a multiple of the workgroup's 64
constexpr uint64_t kBytes = kTexels * 16;

std::vector<float> ramp() {
    std::vector<float> values(kTexels * 4);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return values;
}

std::vector<float> downloadFloats(Transfer& transfer, const Buffer& buffer) {
    std::vector<float> values(buffer.sizeBytes() / sizeof(float));
    transfer.download(buffer, 0, std::as_writable_bytes(std::span(values)));
    return values;
}

} // namespace

TEST_CASE("dispatch: a chain of shaders with barriers, copies and indirect counts gives exact results", "[gpu]") {
    TestContext context;
    Transfer transfer(*context);
    const Buffer source(*context, {kBytes, Placement::DeviceLocal, "source"});
    const Buffer middle(*context, {kBytes, Placement::DeviceLocal, "middle"});
    const Buffer target(*context, {kBytes, Placement::DeviceLocal, "target"});
    const Buffer readback(*context, {kBytes, Placement::Readback, "readback"});
    const Buffer counts(*context, {32, Placement::Upload, "counts"});
    const BufferView sourceView(*context, source, 0, kBytes);
    const BufferView middleView(*context, middle, 0, kBytes);
    transfer.upload(source, 0, std::as_bytes(std::span<const float>(ramp())));

    const ComputePipeline doubled = scalePipeline(*context, 2.0f);
    const ComputePipeline halved = scalePipeline(*context, 0.5f);
    DescriptorPool pool(*context);
    const auto first = pool.allocate(doubled, std::array<BoundResource, 2>{&sourceView, BufferRange{&middle}});
    const auto second = pool.allocate(halved, std::array<BoundResource, 2>{&middleView, BufferRange{&target}});

    CommandBuffer commands(*context, "chain");
    CommandRecorder recorder(commands);
    recorder.barrier();
    recorder.fill(target, 0, kBytes);
    recorder.bind(doubled, first);
    recorder.push(doubled, std::array{kTexels, std::bit_cast<uint32_t>(6.0f)});
    recorder.dispatch((kTexels + 63) / 64);
    recorder.barrier();
    recorder.bind(halved, second);
    recorder.push(halved, std::array{kTexels, std::bit_cast<uint32_t>(1.0f)});
    recorder.dispatchIndirect(counts, 4);
    recorder.barrier(Stages::Shader, Stages::Transfer);
    recorder.copy({.from = &target, .to = &readback, .sizeBytes = kBytes});
    recorder.barrier(Stages::Transfer, Stages::Host);
    recorder.finish();

    Timeline timeline(*context);
    const auto setCounts = [&](uint32_t groups) {
        const std::array<uint32_t, 4> words{99, groups, 1, 1};
        std::copy(words.begin(), words.end(), counts.mappedAs<uint32_t>().begin());
    };
    setCounts((kTexels + 63) / 64);
    REQUIRE(timeline.wait(timeline.submit(commands)));
    auto expected = ramp();
    for (float& value : expected) value = value + 4; // (2 x + 6) / 2 + 1
    CHECK(std::ranges::equal(readback.mappedAs<float>(), expected));
    CHECK(downloadFloats(transfer, target) == expected);

    setCounts(0); // the same recording, live counts: nothing may run
    REQUIRE(timeline.wait(timeline.submit(commands)));
    CHECK(std::ranges::all_of(readback.mappedAs<float>(), [](float value) { return value == 0; }));
}
