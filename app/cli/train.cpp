#include "app/cli/command.h"

#include "engine/core/error.h"
#include "engine/io/json_file.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/folder_writer.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <unistd.h>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kExamples = 1024; // of an evaluation, where examples never end

volatile std::sig_atomic_t stopRequested = 0;
void requestStop(int) { stopRequested = 1; }

struct Options {
    std::string recipe, out, device, exportBatches;
    bool resumes = false;
    nlohmann::json fields = nlohmann::json::object(); // of the recipe, as named on the command line
    std::vector<std::string> values;                  // "id=number" of the task
};

/// metrics.jsonl: one line per step and one per evaluation.
class Metrics {
public:
    /// Keeps what an earlier part of the run wrote up to `step`.
    Metrics(const fs::path& path, int64_t step) {
        std::string kept;
        std::ifstream old(path);
        for (std::string line; step > 0 && std::getline(old, line);) {
            const auto json = nlohmann::json::parse(line, nullptr, false);
            if (!json.is_discarded() && json.value("step", int64_t{0}) <= step) kept += line + "\n";
        }
        file_.open(path, std::ios::trunc);
        file_ << kept;
    }
    void write(const nlohmann::json& line) { file_ << line.dump() << "\n" << std::flush; }

private:
    std::ofstream file_;
};

Recipe recipeOf(const Options& options) {
    const fs::path kept = fs::path(options.out) / "recipe.json";
    if (options.resumes) return readRecipe(kept);
    nlohmann::json json = toJson(options.recipe.empty() ? Recipe{} : readRecipe(options.recipe));
    json.update(options.fields);
    for (const std::string& value : options.values) {
        const size_t equals = value.find('=');
        char* end = nullptr;
        const double number = equals == std::string::npos ? 0 : std::strtod(value.c_str() + equals + 1, &end);
        if (equals == std::string::npos || equals + 1 == value.size() || *end != '\0')
            throw Error({.what = fmt::format("\"{}\" is not of the form name=number", value),
                         .where = "--set",
                         .hint = "for example: --set digits=6"});
        json["values"][value.substr(0, equals)] = number;
    }
    return recipeFromJson(json, options.recipe.empty() ? "the command line" : options.recipe);
}

std::string minutes(double seconds) {
    return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

void exportBatches(const Trainer& trainer, const std::string& path) {
    std::vector<int32_t> inputs, targets;
    const Recipe& recipe = trainer.recipe();
    int64_t columns = 0;
    for (int64_t step = 0; step < recipe.schedule.steps; ++step) {
        const Batch batch = trainer.instance().batch(Split::Train, static_cast<uint64_t>(step), recipe.batch);
        columns = batch.columns;
        inputs.insert(inputs.end(), batch.inputs.begin(), batch.inputs.end());
        targets.insert(targets.end(), batch.targets.begin(), batch.targets.end());
    }
    const std::vector<int64_t> shape{recipe.schedule.steps, recipe.batch, columns};
    const std::vector<WrittenTensor> tensors{{.name = "inputs", .shape = shape, .integers = inputs},
                                             {.name = "targets", .shape = shape, .integers = targets}};
    writeSafetensors(path, tensors);
}

void printEvaluation(const Trainer& trainer, const Trainer::Evaluation& evaluation, std::string_view split) {
    fmt::print("{} loss {:.4f}", split, evaluation.loss);
    if (trainer.task().metric == Task::Metric::ExactMatch)
        fmt::print("  {} {:.2f} % of {} (success: {:.0f} %)", trainer.task().metricName, evaluation.metric * 100,
                   evaluation.examples, trainer.task().successLevel * 100);
    fmt::print("\n");
}

int64_t exampleCount(const Trainer& trainer, Split split) {
    return static_cast<int64_t>(trainer.instance().rowCount(split).value_or(static_cast<uint64_t>(kExamples)));
}

int train(const Options& options) {
    const Recipe recipe = recipeOf(options);
    const fs::path run = options.out;
    if (!options.resumes && !checkpoints(run).empty())
        throw Error({.what = "already holds a run",
                     .where = options.out,
                     .hint = "add --resume to go on with it, or name another folder"});
    Trainer trainer(recipe, {.device = options.device.empty() ? std::nullopt : std::optional(options.device)});
    startRun(run, recipe);
    if (options.resumes) {
        const auto all = checkpoints(run);
        if (all.empty())
            throw Error({.what = "holds no checkpoint", .where = options.out, .hint = "train without --resume"});
        resume(trainer, all.back());
    }
    if (!options.exportBatches.empty()) exportBatches(trainer, options.exportBatches);
    if (trainer.stepsDone() == 0) saveCheckpoint(run, trainer);

    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    fmt::print(stderr, "{}: {} parameters, {} steps of {} x {} tokens on {}, {} dispatches a step\n",
               trainer.task().title, trainer.parameterCount(), recipe.schedule.steps, recipe.batch,
               trainer.instance().contextLength(), trainer.context().traits().name, trainer.dispatchCount());
    Metrics metrics(run / "metrics.jsonl", trainer.stepsDone());
    std::signal(SIGINT, requestStop);
    std::signal(SIGTERM, requestStop);
    const auto start = Clock::now();
    const int64_t first = trainer.stepsDone();
    int64_t saved = first;
    while (trainer.stepsDone() < recipe.schedule.steps && stopRequested == 0) {
        const Trainer::StepReport report = trainer.step();
        if (!std::isfinite(report.loss))
            throw Error({.what = fmt::format("the loss of step {} is not a number", report.step),
                         .where = recipe.task,
                         .hint = "choose a lower learning rate or clip the gradient"});
        metrics.write({{"step", report.step},
                       {"loss", report.loss},
                       {"gradient_norm", report.gradientNorm},
                       {"learning_rate", report.learningRate}});
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const double perStep = seconds / static_cast<double>(report.step - first);
        if (showsProgress)
            fmt::print(stderr, "\r\x1b[Kstep {}/{}  loss {:.4f}  {:.1f} ms a step  {} left", report.step,
                       recipe.schedule.steps, report.loss, perStep * 1e3,
                       minutes(perStep * static_cast<double>(recipe.schedule.steps - report.step)));
        if (report.step % recipe.evaluateEvery == 0 && report.step < recipe.schedule.steps) {
            const auto evaluation = trainer.evaluate(Split::Validation, 256);
            metrics.write({{"step", report.step},
                           {"validation_loss", evaluation.loss},
                           {"metric", evaluation.metric},
                           {"seconds", seconds}});
            fmt::print(stderr, "{}step {}  loss {:.4f}  validation {:.4f}  {} {:.4f}  {:.0f} s\n",
                       showsProgress ? "\r\x1b[K" : "", report.step, report.loss, evaluation.loss,
                       trainer.task().metricName, evaluation.metric, seconds);
        }
        if (report.step % recipe.checkpointEvery == 0) {
            saveCheckpoint(run, trainer);
            saved = report.step;
        }
    }
    if (showsProgress) fmt::print(stderr, "\r\x1b[K");
    if (saved != trainer.stepsDone()) saveCheckpoint(run, trainer);
    if (stopRequested != 0) {
        fmt::print(stderr, "stopped after step {}; go on with: attention-cli train --resume --out {}\n",
                   trainer.stepsDone(), options.out);
        return 130;
    }
    writeModelFolder(run, trainer.config(), trainer.instance().tokenizerJson(),
                     trainer.instance().tokenizer().endId().value_or(-1),
                     [&](const std::string& name) { return trainer.read(name); });
    const auto evaluation = trainer.evaluate(Split::Validation, exampleCount(trainer, Split::Validation));
    metrics.write({{"step", trainer.stepsDone()}, {"validation_loss", evaluation.loss}, {"metric", evaluation.metric}});
    printEvaluation(trainer, evaluation, "validation");
    return kDone;
}

int evaluate(const std::string& path, const std::string& split, const std::string& device) {
    const fs::path folder = path;
    const auto all = checkpoints(folder);
    const fs::path weights = all.empty() ? folder : all.back();
    const fs::path recipe =
        fs::exists(folder / "recipe.json") ? folder / "recipe.json" : folder / ".." / ".." / "recipe.json";
    Trainer trainer(readRecipe(recipe), {.device = device.empty() ? std::nullopt : std::optional(device)});
    loadWeights(trainer, weights);
    const Split chosen = split == "test" ? Split::Test : split == "train" ? Split::Train : Split::Validation;
    printEvaluation(trainer, trainer.evaluate(chosen, exampleCount(trainer, chosen)), split);
    return kDone;
}

} // namespace

void addTrain(CLI::App& app, Run& run) {
    CLI::App* command =
        app.add_subcommand("train", "train a small model on a task; the folder it writes opens in every program");
    const auto options = std::make_shared<Options>();
    std::string tasks;
    for (const Task* task : taskCatalogue()) tasks += fmt::format("{}{}", tasks.empty() ? "" : ", ", task->id);
    command->add_option("--out", options->out, "folder of the run")->required();
    command->add_option("--recipe", options->recipe, "recipe.json to begin with; other options change it");
    command->add_flag("--resume", options->resumes, "go on from the run's last checkpoint, to the same bits");
    command->add_option("--device", options->device, "index or part of the name of a Vulkan device");
    command->add_option("--set", options->values, "a value of the task, e.g. digits=6 (repeat for more)");
    const auto text = [&](const char* flag, const char* field, const std::string& help) {
        command->add_option_function<std::string>(
            flag, [=](const std::string& value) { options->fields[field] = value; }, help);
    };
    const auto number = [&](const char* flag, const char* field, const std::string& help) {
        command->add_option_function<double>(
            flag, [=](double value) { options->fields[field] = value; }, help);
    };
    text("--task", "task", tasks);
    command->add_option_function<std::string>(
        "--text", [=](const std::string& path) { options->fields["text"] = fs::absolute(path).string(); },
        "text file, for the task text");
    text("--tokenizer", "tokenizer", "chars, bytes or bpe:N, for the task text");
    command->add_option_function<double>(
        "--context", [=](double value) { options->values.push_back(fmt::format("context={}", value)); },
        "tokens of a sequence, for the task text");
    text("--family", "family", "gpt2 or llama");
    number("--layers", "layers", "blocks");
    number("--heads", "heads", "heads of each");
    number("--key-value-heads", "key_value_heads", "0: as many as heads");
    number("--width", "width", "of the residual stream");
    number("--feed-forward", "feed_forward", "its width; 0: 4 widths, or 8/3 of it (llama)");
    text("--activation", "activation", "gelu_new, gelu or relu (gpt2)");
    command->add_flag_function(
        "--no-bias", [=](int64_t) { options->fields["bias"] = false; }, "keep every bias at zero (gpt2)");
    number("--batch", "batch", "sequences per step");
    number("--accumulation", "accumulation", "equal parts of the batch that are run one after another");
    number("--steps", "steps", "updates");
    number("--lr", "learning_rate", "learning rate after the warm-up");
    number("--final-lr", "final_learning_rate", "in the end");
    number("--warmup", "warm_up", "steps");
    text("--schedule", "schedule", "constant, inverse-square-root, cosine or linear");
    text("--optimiser", "optimiser", "adamw, adam or sgd");
    number("--beta1", "beta1", "");
    number("--beta2", "beta2", "");
    number("--weight-decay", "weight_decay", "of matrices");
    number("--clip", "clip", "most of the gradient's norm; 0: no limit");
    number("--smoothing", "smoothing", "of labels");
    number("--dropout", "dropout", "");
    command->add_flag_function(
        "--gradient-checkpointing", [=](int64_t) { options->fields["gradient_checkpointing"] = true; },
        "compute each block's activations anew in the backward pass: less memory, more time");
    number("--seed", "seed", "of weights, examples and dropout");
    number("--evaluate-every", "evaluate_every", "steps");
    number("--checkpoint-every", "checkpoint_every", "steps");
    command->add_option("--export-batches", options->exportBatches,
                        "also write every batch to this .safetensors file, to repeat the run elsewhere");
    command->footer("Examples:\n  attention-cli train --task sort --steps 1000 --lr 3e-3 --beta2 0.98 --out runs/sort\n"
                    "  attention-cli train --task text --text book.txt --context 64 --layers 4 --width 128 --batch 12 "
                    "--steps 2000 --out runs/book");
    command->callback([=, &run] { run = [=] { return train(*options); }; });
}

void addEval(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("eval", "measure what a training run has reached");
    struct Options {
        std::string path, split = "validation", device;
    };
    const auto options = std::make_shared<Options>();
    command->add_option("DIR", options->path, "folder of the run, or one of its checkpoints")->required();
    command->add_option("--split", options->split, "which examples")
        ->check(CLI::IsMember({"validation", "test", "train"}))
        ->capture_default_str();
    command->add_option("--device", options->device, "index or part of the name of a Vulkan device");
    command->callback([=, &run] { run = [=] { return evaluate(options->path, options->split, options->device); }; });
}

} // namespace attn::cli
