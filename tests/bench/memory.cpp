#include "tests/bench/benches.h"
#include "tests/bench/measurements.h"

#include "engine/training/trainer.h"

#include <fmt/format.h>

#include <array>

namespace attn::cli {
namespace {

struct BenchMemoryOptions {
    DeviceChoice device;
    int64_t width = 64, context = 64;
    int batch = 16;
    bool json = false;
};

/// A way to train layers: what it keeps for the backward pass.
struct Way {
    const char* name;
    const char* attention;
    bool isCheckpointed = false;
};
constexpr std::array kWays{Way{"stacked", "mask=causal"}, Way{"checkpointed", "mask=causal", true},
                           Way{"reversible", "residual=reversible, mask=causal"}};
constexpr std::array<int64_t, 4> kDepths{2, 4, 8, 16};

int benchMemory(const BenchMemoryOptions& options) {
    Measurements results(options.json, 24);
    for (const Way& way : kWays)
        for (const int64_t depth : kDepths) {
            Recipe recipe{.task = "text", .batch = options.batch, .gradientCheckpointing = way.isCheckpointed};
            recipe.settings.data.text = "builtin:stories";
            recipe.settings.values["context"] = static_cast<double>(options.context);
            recipe.architecture = {.layers = depth, .heads = 4, .width = options.width, .attention = way.attention};
            const Trainer trainer(recipe, options.device);
            // The parameters' gradients have the same size in each way, and grow with depth.
            const double gradients = 4.0 * static_cast<double>(trainer.parameterCount());
            results.add(fmt::format("{}, {} layers", way.name, depth),
                        (static_cast<double>(trainer.arenaBytes()) - gradients) / (1 << 20), "MiB");
        }
    results.finish();
    return kDone;
}

} // namespace

void addBenchMemory(Command& command) {
    const auto options = std::make_shared<BenchMemoryOptions>();
    command.about("Prints the memory that a training step needs beside the gradients of the parameters, "
                  "for 2 to 16 layers: kept, with gradient checkpointing, and with reversible residuals.");
    addDevice(command, options->device);
    command.option("--width N", options->width, "width of the model").range(8, 1024);
    command.option("--context N", options->context, "tokens of an example").range(8, 4096);
    command.option("--batch N", options->batch, "examples of a step").range(1, 1024);
    addJson(command, options->json);
    command.example("attention-bench memory");
    command.action([=] { return benchMemory(*options); });
}

} // namespace attn::cli
