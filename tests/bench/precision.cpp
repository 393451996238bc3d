#include "tests/bench/benches.h"
#include "tests/bench/measurements.h"

#include "engine/training/precision.h"
#include "engine/training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace attn::cli {
namespace {

struct BenchPrecisionOptions {
    DeviceChoice device;
    int64_t layers = 4, width = 128, context = 64;
    int batch = 12;
    int64_t steps = 200, seed = 0;
    bool json = false;
};

int benchPrecision(const BenchPrecisionOptions& options) {
    using Clock = std::chrono::steady_clock;
    Measurements results(options.json, 60);
    for (const Precision& precision : precisions()) {
        Recipe recipe{.task = "text", .batch = options.batch, .precision = precision.dtype};
        recipe.settings.data.text = "builtin:stories";
        recipe.settings.seed = static_cast<uint64_t>(options.seed);
        recipe.settings.values["context"] = static_cast<double>(options.context);
        recipe.architecture = {.layers = options.layers, .heads = 4, .width = options.width};
        recipe.schedule = {.rate = 1e-3, .finalRate = 1e-4, .warmUp = 20, .steps = options.steps};
        Trainer trainer(recipe, options.device);
        const auto add = [&](const std::string& what, double value, const char* unit, int decimals = 1) {
            results.add(fmt::format("{}: {}", precision.id, what), value, unit, decimals);
        };
        std::vector<double> elapsedMs;
        for (int64_t step = 0; step < options.steps; ++step) {
            const auto begin = Clock::now();
            trainer.step();
            elapsedMs.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
        }
        const auto middle = elapsedMs.begin() + static_cast<std::ptrdiff_t>(elapsedMs.size() / 2);
        std::nth_element(elapsedMs.begin(), middle, elapsedMs.end());
        add("memory of a step for activations and gradients", static_cast<double>(trainer.arenaBytes()) / (1 << 20),
            "MiB");
        add(fmt::format("validation loss after {} steps", options.steps), trainer.evaluate(Split::Validation, 256).loss,
            "nats", 4);
        add("median time of a step", *middle, "ms");
        if (!trainer.lossScale()) continue;
        const LossScale scale = *trainer.lossScale();
        add("steps that were left out", static_cast<double>(scale.skipped), "", 0);
        add("gradients that become zero without a scale", 100 * trainer.vanishingGradients(1), "%", 3);
        add(fmt::format("gradients that become zero with the scale {}", scale.scale),
            100 * trainer.vanishingGradients(scale.scale), "%", 3);
    }
    results.finish();
    return kDone;
}

} // namespace

void addBenchPrecision(Command& command) {
    const auto options = std::make_shared<BenchPrecisionOptions>();
    command.about(
        "Trains one model on the built-in stories in each precision, and prints the memory of a step, the "
        "loss and the time. For f16 it also prints which share of the gradients of activations, of those that "
        "are not zero, 16 bits turn to zero, without and with the scale of the loss.");
    addDevice(command, options->device);
    command.option("--layers N", options->layers, "layers of the model").range(1, 64);
    command.option("--width N", options->width, "width of the model").range(8, 1024);
    command.option("--context N", options->context, "tokens of an example").range(8, 4096);
    command.option("--batch N", options->batch, "examples of a step").range(1, 1024);
    command.option("--steps N", options->steps, "steps of training").range(1, 1e6);
    command.option("--seed N", options->seed, "seed of parameters and examples").range(0, 1e15);
    addJson(command, options->json);
    command.example("attention-bench precision");
    command.example("attention-bench precision --layers 6 --width 384 --context 256 --batch 8 --steps 5");
    command.action([=] { return benchPrecision(*options); });
}

} // namespace attn::cli
