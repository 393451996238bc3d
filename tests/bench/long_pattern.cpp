#include "tests/bench/benches.h"
#include "tests/bench/measurements.h"

#include "engine/core/random_rows.h"
#include "engine/inference/long_pattern_view.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace attn::cli {
namespace {

struct BenchLongPatternOptions {
    DeviceChoice device;
    int64_t tokens = 32768, heads = 8, width = 64;
    int size = 512;
    bool isFull = false, json = false;
};

int benchLongPattern(const BenchLongPatternOptions& options) {
    using ViewClock = std::chrono::steady_clock;
    Device device(options.device);
    TensorStore store(device);
    const Shape shape{options.tokens, options.heads, options.width};
    store.reserve({{"q", shape}, {"k", shape}});
    store.writeDense("q", gaussianRows(options.tokens * options.heads, options.width, 1, 1));
    store.writeDense("k", gaussianRows(options.tokens * options.heads, options.width, 1, 2));
    const uint64_t before = device.allocatedBytes();
    LongPatternView longPattern(
        device, store,
        {.q = "q",
         .k = "k",
         .positions = {},
         .rule = {.scale = 1 / std::sqrt(static_cast<double>(options.width)), .causal = !options.isFull},
         .slopes = {},
         .capacity = options.tokens,
         .heads = options.heads,
         .groups = options.heads,
         .width = options.width});

    Measurements results(options.json, 62);
    results.setDevice(device);
    const auto timed = [&](const LongPatternRegion& view) { // the time to the first drawing, and to the exact one
        const ViewClock::time_point start = ViewClock::now();
        const auto since = [&] { return std::chrono::duration<double, std::milli>(ViewClock::now() - start).count(); };
        longPattern.show(view);
        const double coarse = since();
        while (longPattern.work(1000)) {
        }
        return std::pair(coarse, since());
    };
    int level = 0;
    while ((options.tokens >> level) > options.size) ++level;
    const int side = static_cast<int>((options.tokens + (int64_t{1} << level) - 1) >> level);
    const LongPatternRegion whole{.head = 0, .level = level, .rows = side, .columns = side};
    const int64_t middle = options.tokens / 2;
    const LongPatternRegion close{.head = 0,
                                  .level = 0,
                                  .row = middle,
                                  .column = middle - options.size / 2,
                                  .rows = options.size,
                                  .columns = options.size};

    timed({.level = level, .rows = 1, .columns = side}); // software Vulkan compiles kernels when they first run
    timed({.level = 0, .rows = 1, .columns = options.size});
    const std::string map = fmt::format("{0} x {0} of {1} tokens", side, options.tokens);
    LongPatternRegion other = whole;
    other.head = static_cast<int>(options.heads) - 1; // nothing has been computed for this head
    const auto [coarse, exact] = timed(other);
    results.add(map + ": coarse", coarse, "ms");
    results.add(map + ": largest, exact, normalisers included", exact, "ms");
    results.add(map + ": largest, exact, normalisers known", timed(other).second, "ms");
    LongPatternRegion mean = other;
    mean.pooling = Pooling::Mean;
    timed({.head = other.head, .level = level, .rows = 1, .columns = side, .pooling = Pooling::Mean});
    results.add(map + ": mean, exact, normalisers known", timed(mean).second, "ms");
    timed(close);
    results.add(fmt::format("{0} x {0} cells, normalisers known", options.size), timed(close).second, "ms");
    LongPatternRegion moved = close;
    moved.row += 64;
    moved.column += 64;
    results.add("moved by 64 cells, new normalisers included", timed(moved).second, "ms");
    results.add("device memory beyond q and k", static_cast<double>(device.allocatedBytes() - before) / (1 << 20),
                "MiB");
    results.finish();
    return kDone;
}

} // namespace

void addBenchLongPattern(Command& command) {
    const auto options = std::make_shared<BenchLongPatternOptions>();
    command.about("Draws random queries and keys and times the long-pattern view of one head: coarse and exact, pooled "
                  "by largest and by mean, and cell by cell. The formed pattern would need 4 GiB per head.");
    addDevice(command, options->device);
    command.option("--tokens N", options->tokens, "number of queries and of keys").range(64, 1 << 17);
    command.option("--heads N", options->heads, "number of heads").range(1, 128);
    command.option("--width N", options->width, "width of a head").range(1, 256);
    command.option("--size N", options->size, "pixels on a side of the view").range(16, LongPatternRegion::kMostSide);
    command.flag("--full", options->isFull, "let every query see every key, not only earlier ones");
    addJson(command, options->json);
    command.example("attention-bench long-pattern --tokens 32768");
    command.action([=] { return benchLongPattern(*options); });
}

} // namespace attn::cli
