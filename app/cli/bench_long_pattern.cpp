#include "app/cli/command.h"

#include "engine/attention/random_features.h"
#include "engine/session/long_pattern_view.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>

namespace attn::cli {
namespace {

struct Options {
    std::string device;
    int64_t tokens = 32768, heads = 8, width = 64;
    int size = 512;
    bool isFull = false, json = false;
};

int benchLongPattern(const Options& options) {
    using Clock = std::chrono::steady_clock;
    gpu::Context context({.device = options.device.empty() ? std::nullopt : std::optional(options.device)});
    KernelLibrary kernels(context);
    TensorStore store(context);
    const Shape shape{options.tokens, options.heads, options.width};
    store.reserve({{"q", shape}, {"k", shape}});
    store.writeDense("q", gaussianRows(options.tokens * options.heads, options.width, 1, 1));
    store.writeDense("k", gaussianRows(options.tokens * options.heads, options.width, 1, 2));
    const uint64_t before = context.allocatedBytes();
    LongPatternView longPattern(
        context, kernels, store,
        {.q = "q",
         .k = "k",
         .positions = {},
         .rule = {.scale = 1 / std::sqrt(static_cast<double>(options.width)), .causal = !options.isFull},
         .slopes = {},
         .capacity = options.tokens,
         .heads = options.heads,
         .groups = options.heads,
         .width = options.width});

    nlohmann::json results{{"device", context.traits().name}};
    if (!options.json) fmt::print("device: {}, {}\n", context.traits().name, context.traits().driver);
    const auto report = [&](const std::string& name, double value, const char* unit) {
        results[name] = value;
        if (!options.json) fmt::print("{:<56} {:>10.1f} {}\n", name, value, unit);
        std::fflush(stdout);
    };
    const auto timed = [&](const LongPatternRegion& view) { // until it is there, and until it is exact
        const Clock::time_point start = Clock::now();
        const auto since = [&] { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); };
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

    timed({.level = level, .rows = 1, .columns = side}); // software Vulkan compiles kernels at their first run
    timed({.level = 0, .rows = 1, .columns = options.size});
    const std::string map = fmt::format("{0} x {0} of {1} tokens", side, options.tokens);
    LongPatternRegion other = whole;
    other.head = static_cast<int>(options.heads) - 1; // of which nothing is known
    const auto [coarse, exact] = timed(other);
    report(map + ": a coarse picture", coarse, "ms");
    report(map + ": largest, exact, with normalisers", exact, "ms");
    report(map + ": largest, exact, normalisers ready", timed(other).second, "ms");
    LongPatternRegion mean = other;
    mean.pooling = Pooling::Mean;
    timed({.head = other.head, .level = level, .rows = 1, .columns = side, .pooling = Pooling::Mean});
    report(map + ": mean, exact, normalisers ready", timed(mean).second, "ms");
    timed(close);
    report(fmt::format("{0} x {0} cells, normalisers ready", options.size), timed(close).second, "ms");
    LongPatternRegion moved = close;
    moved.row += 64;
    moved.column += 64;
    report("moved by 64 cells, their normalisers with it", timed(moved).second, "ms");
    report("device memory beyond q and k", static_cast<double>(context.allocatedBytes() - before) / (1 << 20), "MiB");
    if (options.json) fmt::print("{}\n", results.dump());
    return kDone;
}

} // namespace

void addBenchLongPattern(CLI::App& bench, Run& run) {
    CLI::App* command = bench.add_subcommand("lens", "a long pattern, looked at without forming it");
    const auto options = std::make_shared<Options>();
    command->add_option("--device", options->device, "index or part of the name of a Vulkan device");
    command->add_option("--tokens", options->tokens, "of random queries and keys")
        ->capture_default_str()
        ->check(CLI::Range(64, 1 << 17));
    command->add_option("--heads", options->heads, "heads")->capture_default_str()->check(CLI::Range(1, 128));
    command->add_option("--width", options->width, "of a head")->capture_default_str()->check(CLI::Range(1, 256));
    command->add_option("--size", options->size, "pixels on a side")
        ->capture_default_str()
        ->check(CLI::Range(16, LongPatternRegion::kMostSide));
    command->add_flag("--full", options->isFull, "every token sees every token, not only what lies behind");
    command->add_flag("--json", options->json, "one JSON object");
    command->callback([=, &run] { run = [=] { return benchLongPattern(*options); }; });
}

} // namespace attn::cli
