#include "app/arguments/run_program.h"
#include "app/cli/command.h"
#include "app/cli/progress_line.h"

#include "app/figures/plot_figure.h"
#include "engine/system/atomic_file.h"
#include "engine/training/answers.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace attn::cli {
namespace {

struct ExtrapolateOptions {
    std::string task = "text", text, out;
    DeviceChoice device;
    std::vector<std::string> specs;
    int64_t steps = 0; ///< 0: as many as suit the task
    int64_t layers = 2, heads = 4, width = 64, batch = 16;
    double rate = 3e-3;
    uint64_t seed = 0;
    int last = 16; ///< for a text: number of targets at the end of a row that count
};

/// The attentions that are compared when none is named.
const std::vector<std::string> kSchemes{"position=alibi, mask=causal",      "position=rope, mask=causal & window(32)",
                                        "position=rope, mask=causal",       "position=t5, mask=causal",
                                        "position=sinusoidal, mask=causal", "position=learned, mask=causal",
                                        "position=none, mask=causal"};

struct Plan {
    TaskSettings settings;
    std::vector<int> lengths;
    int trained;
    std::string unit;
    int64_t steps; ///< the default of --steps
};

Plan planOf(const ExtrapolateOptions& options) {
    if (options.task == "text")
        return {.settings = {.values = {{"context", 64}}, .seed = options.seed, .data = {.text = options.text}},
                .lengths = {64, 128, 256},
                .trained = 64,
                .unit = fmt::format("loss of the last {} characters, in nats", options.last),
                .steps = 1000};
    return {.settings = {.values = {{"length", 12}, {"varied", 1}}, .seed = options.seed},
            .lengths = {6, 12, 24},
            .trained = 12,
            .unit = "share of tokens copied correctly",
            .steps = 3000};
}

TaskSettings atLength(const Plan& plan, const std::string& task, int length) {
    TaskSettings settings = plan.settings;
    settings.values[task == "text" ? "context" : "length"] = length;
    if (task != "text") settings.values["varied"] = 0;
    return settings;
}

int extrapolate(const Command& command, const ExtrapolateOptions& options) {
    if (options.task != "text") refuseIdle(command, {"--text"}, "--task " + options.task, "--task text");
    const Task& task = taskNamed(options.task);
    const Plan plan = planOf(options);
    const int64_t steps = options.steps > 0 ? options.steps : plan.steps;
    PlotFigure figure;
    figure.title =
        options.task == "text" ? "Trained on 64 characters, tested on more" : "Trained to copy up to 12 tokens";
    figure.valueTitle = QString::fromStdString(plan.unit);
    figure.placeTitle = "tokens";
    figure.lengths = plan.lengths;
    figure.marked = plan.trained;
    nlohmann::json report = nlohmann::json::array();
    const std::vector<std::string>& schemes = options.specs.empty() ? kSchemes : options.specs;
    ProgressLine shown;
    int64_t done = 0; ///< steps, of all models
    for (const std::string& scheme : schemes) {
        Recipe recipe{.task = options.task,
                      .settings = plan.settings,
                      .architecture = {.layers = options.layers,
                                       .heads = options.heads,
                                       .width = options.width,
                                       .attention = scheme,
                                       .initialDeviation = 0.05},
                      .optimiser = {.beta2 = 0.98, .decay = 0.01},
                      .schedule = {.rate = options.rate, .finalRate = options.rate / 30, .warmUp = 50, .steps = steps},
                      .batch = static_cast<int>(options.batch)};
        Trainer trainer(recipe, options.device);
        for (int64_t step = 0; step < steps; ++step) {
            trainer.step();
            Progress progress = ofSteps(++done, steps * static_cast<int64_t>(schemes.size()));
            progress.sentence = scheme;
            shown.show(std::move(progress));
        }
        PlotFigure::Line line{.label = QString::fromStdString(scheme).remove("position=").remove("mask=")};
        line.label.remove(", causal").replace(" & ", ", ");
        nlohmann::json entry{{"attention", scheme}, {"lengths", plan.lengths}};
        shown.clear();
        fmt::print("{:44}", scheme);
        for (int length : plan.lengths) {
            const auto instance = makeTask(task, atLength(plan, options.task, length));
            const auto found =
                evaluateAt(trainer, *instance, Split::Validation, 64, options.task == "text" ? options.last : 0);
            line.points.emplace_back(length, options.task == "text" ? found.loss : found.accuracy);
            entry["loss"].push_back(found.loss);
            entry["accuracy"].push_back(found.accuracy);
            fmt::print("  {:4}: {:.3f}", length, line.points.back().y());
        }
        fmt::print("\n");
        flushOutput();
        report.push_back(std::move(entry));
        figure.lines.push_back(std::move(line));
    }
    figure.minimum = options.task == "text" ? 1.5 : 0;
    figure.maximum = options.task == "text" ? 4 : 1;
    const auto suffix = std::filesystem::path(options.out).extension();
    if (suffix == ".json") {
        const std::string text = report.dump(2) + "\n";
        writeAtomically(options.out, text);
        return kDone;
    }
    writeFigure(figure, {760, 420}, options.out);
    return kDone;
}

} // namespace

void addExtrapolate(Command& command) {
    const auto options = std::make_shared<ExtrapolateOptions>();
    command.about("text: trained on 64 characters, tested on 64, 128 and 256; prints the loss in nats. copy: trained "
                  "on up to 12 tokens, tested on 6, 12 and 24; prints the share of tokens copied correctly.");
    command.option("--task TASK", options->task, "task to train").choices({"text", "copy"});
    command.option("--text FILE", options->text, "for --task text: file to learn from");
    command.option("--attention SPEC", options->specs, "composition to compare; repeat it for more")
        .defaultText("seven position schemes");
    command.option("--steps N", options->steps, "training steps of each model")
        .range(1, 1e9)
        .defaultText("1000 for text, 3000 for copy");
    command.option("--layers N", options->layers, "number of layers").range(1, 96);
    command.option("--heads N", options->heads, "heads per layer").range(1, 128);
    command.option("--width N", options->width, "width of the residual stream").range(1, 8192);
    command.option("--batch N", options->batch, "sequences per step").range(1, 65536);
    command.option("--lr X", options->rate, "learning rate").range(0, 100);
    command.option("--seed N", options->seed, "seed of parameters and examples");
    addDevice(command, options->device);
    command.option("--out FILE", options->out, "figure (.png, .svg, .pdf) or .json file to write").required();
    command.example("attention-cli extrapolate --text book.txt --out lengths.svg");
    command.example("attention-cli extrapolate --task copy --out copying.svg");
    command.action([=, &command] { return extrapolate(command, *options); });
}

} // namespace attn::cli
