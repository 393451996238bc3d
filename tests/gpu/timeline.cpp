#include "engine/gpu/timeline.h"

#include "engine/gpu/profiler.h"
#include "tests/gpu/gpu_test.h"

using namespace attn;
using namespace attn::gpu;

namespace {

/// Fills a readback buffer with one word.
CommandBuffer fillCommands(Context& context, const Buffer& buffer, uint32_t word) {
    CommandBuffer commands(context, "fill");
    CommandRecorder recorder(commands);
    recorder.barrier(Stages::Transfer, Stages::Transfer);
    recorder.fill(buffer, 0, buffer.sizeBytes(), word);
    recorder.barrier(Stages::Transfer, Stages::Host);
    recorder.finish();
    return commands;
}

} // namespace

TEST_CASE("timeline: submissions are numbered and finish in order", "[gpu]") {
    TestContext context;
    const Buffer buffer(*context, {1 << 20, Placement::Readback, "target"});
    const CommandBuffer ones = fillCommands(*context, buffer, 1);
    const CommandBuffer twos = fillCommands(*context, buffer, 2);
    Timeline timeline(*context);
    CHECK(timeline.reached() == 0);
    CHECK(timeline.isReached(0));
    CHECK(timeline.submit(ones) == 1);
    CHECK(timeline.submit(twos) == 2);
    CHECK(timeline.submit(ones) == 3); // the same commands again, with no wait between
    const std::array list{&ones, &twos};
    CHECK(timeline.submit(list) == 4);
    REQUIRE(timeline.wait(4));
    CHECK(timeline.reached() == 4);
    CHECK(timeline.isReached(3));
    CHECK(timeline.submitted() == 4);
    CHECK(std::ranges::all_of(buffer.mappedAs<uint32_t>(), [](uint32_t word) { return word == 2; }));
}

TEST_CASE("timeline: waiting for work that is not submitted times out", "[gpu]") {
    TestContext context;
    const Timeline timeline(*context);
    CHECK_FALSE(timeline.wait(1, std::chrono::milliseconds(5)));
    CHECK_FALSE(timeline.isReached(1));
}

TEST_CASE("timeline: destroying one waits for its work, moving one keeps its count", "[gpu]") {
    TestContext context;
    const Buffer buffer(*context, {1 << 22, Placement::Readback, "target"});
    const CommandBuffer commands = fillCommands(*context, buffer, 7);
    {
        Timeline timeline(*context);
        timeline.submit(commands);
        Timeline moved(std::move(timeline));
        CHECK(moved.submit(commands) == 2);
        moved = Timeline(*context); // waits for both
        CHECK(buffer.mappedAs<uint32_t>().back() == 7);
        CHECK(moved.submit(commands) == 1);
    }
    CHECK(buffer.mappedAs<uint32_t>().front() == 7);
}

TEST_CASE("profiler: stretches come back in order with their names", "[gpu]") {
    TestContext context;
    const Buffer buffer(*context, {1 << 24, Placement::DeviceLocal, "target"});
    Profiler profiler(*context, 3);
    if (!profiler.isAvailable()) {
        WARN("skipped: the queue has no timestamps");
        return;
    }
    CHECK(profiler.stretches().empty());
    CommandBuffer commands(*context, "profiled");
    Timeline timeline(*context);
    for (int round = 0; round < 2; ++round) {
        CommandRecorder recorder(commands);
        profiler.reset(recorder);
        profiler.mark(recorder, "fill");
        recorder.fill(buffer, 0, buffer.sizeBytes());
        recorder.barrier();
        profiler.mark(recorder, "nothing");
        profiler.mark(recorder, "end");
        profiler.mark(recorder, "beyond the capacity");
        recorder.finish();
        const auto begin = std::chrono::steady_clock::now();
        REQUIRE(timeline.wait(timeline.submit(commands)));
        const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - begin;
        const auto stretches = profiler.stretches();
        REQUIRE(stretches.size() == 2);
        CHECK(stretches[0].name == "fill");
        CHECK(stretches[1].name == "nothing");
        CHECK(stretches[0].elapsedMs >= 0);
        CHECK(stretches[0].elapsedMs <= waited.count());
    }
}
