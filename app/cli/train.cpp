#include "app/cli/command.h"

#include "engine/core/error.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/bundled.h"
#include "engine/training/run.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <unistd.h>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stopRequested = 0;
void requestStop(int) { stopRequested = 1; }

struct Options {
    std::string recipe, out, device, exportBatches;
    bool resumes = false;
    nlohmann::json fields = nlohmann::json::object(); // of the recipe, as named on the command line
    std::vector<std::string> values;                  // "id=number" of the task
};

Recipe recipeOf(const Options& options) {
    const fs::path kept = fs::path(options.out) / "recipe.json";
    if (options.resumes) return readRecipe(kept);
    const std::string task = options.fields.value("task", Recipe{}.task);
    nlohmann::json json =
        toJson(options.recipe.empty() ? suggestedRecipe(taskNamed(task)) : readRecipe(options.recipe));
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
    std::vector<float> patches;
    const Recipe& recipe = trainer.recipe();
    int64_t columns = 0;
    for (int64_t step = 0; step < recipe.schedule.steps; ++step) {
        const Batch batch = trainer.objective().batch(Split::Train, static_cast<uint64_t>(step), recipe.batch);
        columns = batch.columns;
        inputs.insert(inputs.end(), batch.inputs.begin(), batch.inputs.end());
        patches.insert(patches.end(), batch.patches.begin(), batch.patches.end());
        targets.insert(targets.end(), batch.targets.begin(), batch.targets.end());
    }
    const int64_t rows = recipe.schedule.steps * recipe.batch;
    std::vector<WrittenTensor> tensors{
        {.name = "targets", .shape = {recipe.schedule.steps, recipe.batch, columns}, .integers = targets}};
    if (const ImageObjective* images = trainer.images()) {
        const int64_t count = images->config().grid().area();
        tensors.push_back({.name = "patches",
                           .shape = {recipe.schedule.steps, recipe.batch, count,
                                     static_cast<int64_t>(patches.size()) / std::max<int64_t>(rows * count, 1)},
                           .values = patches});
    } else {
        tensors.push_back({.name = "inputs", .shape = tensors.front().shape, .integers = inputs});
    }
    writeSafetensors(path, tensors);
}

void printEvaluation(const Trainer& trainer, const Trainer::Evaluation& evaluation, std::string_view split) {
    fmt::print("{} loss {:.4f}", split, evaluation.loss);
    if (trainer.task().metric == Task::Metric::ExactMatch)
        fmt::print("  {} {:.2f} % of {} (success: {:.0f} %)", trainer.task().metricName, evaluation.metric * 100,
                   evaluation.examples, trainer.task().successLevel * 100);
    fmt::print("\n");
}

/// Which classes are taken for which: rows are classes, columns what they are taken for.
void printConfusion(const Trainer& trainer, const Trainer::Evaluation& evaluation) {
    const std::vector<std::string>& labels = trainer.images()->instance().labels();
    fmt::print("{:>14}", "");
    for (size_t column = 0; column < labels.size(); ++column) fmt::print("{:>7}", fmt::format("{:.6}", labels[column]));
    fmt::print("\n");
    for (size_t row = 0; row < labels.size(); ++row) {
        fmt::print("{:>14}", fmt::format("{:.13}", labels[row]));
        for (size_t column = 0; column < labels.size(); ++column)
            fmt::print("{:>7}", evaluation.confusion[row * labels.size() + column]);
        fmt::print("\n");
    }
}

/// "12 x 64 tokens", "64 pictures".
std::string batchText(const Trainer& trainer) {
    const int rows = trainer.recipe().batch;
    return trainer.images() ? fmt::format("{} pictures", rows)
                            : fmt::format("{} x {} tokens", rows, trainer.sequences()->instance().contextLength());
}

int train(const Options& options) {
    const Recipe recipe = recipeOf(options);
    TrainingRun run(options.out, recipe,
                    {.device = options.device.empty() ? std::nullopt : std::optional(options.device)}, options.resumes);
    Trainer& trainer = run.trainer();
    if (!options.exportBatches.empty()) exportBatches(trainer, options.exportBatches);

    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    const char* clear = showsProgress ? "\r\x1b[K" : "";
    fmt::print(stderr, "{}: {} parameters, {} steps of {} on {}, {} dispatches a step\n", trainer.task().title,
               trainer.parameterCount(), recipe.schedule.steps, batchText(trainer), trainer.context().traits().name,
               trainer.dispatchCount());
    std::signal(SIGINT, requestStop);
    std::signal(SIGTERM, requestStop);
    const auto start = Clock::now();
    const int64_t first = trainer.stepsDone();
    while (!run.isFinished() && stopRequested == 0) {
        const MetricPoint point = run.advance();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const double perStep = seconds / static_cast<double>(point.step - first);
        if (point.validationLoss)
            fmt::print(stderr, "{}step {}  loss {:.4f}  validation {:.4f}  {} {:.4f}  {:.0f} s\n", clear, point.step,
                       point.loss, *point.validationLoss, trainer.task().metricName, *point.metric, seconds);
        if (showsProgress)
            fmt::print(stderr, "{}step {}/{}  loss {:.4f}  {:.1f} ms a step  {} left", clear, point.step,
                       recipe.schedule.steps, point.loss, perStep * 1e3,
                       minutes(perStep * static_cast<double>(recipe.schedule.steps - point.step)));
    }
    fmt::print(stderr, "{}", clear);
    if (stopRequested != 0 && !run.isFinished()) {
        run.save();
        fmt::print(stderr, "stopped after step {}; go on with: attention-cli train --resume --out {}\n",
                   trainer.stepsDone(), options.out);
        return 130;
    }
    printEvaluation(trainer, run.finish(), "validation");
    if (trainer.images())
        printEvaluation(trainer, trainer.evaluate(Split::Test, exampleCount(trainer, Split::Test)), "test");
    return kDone;
}

struct EvalOptions {
    std::string path, split = "validation", device;
    std::vector<std::string> closed; // "layer.head"
    bool sweepsHeads = false;
};

int evaluate(const EvalOptions& options) {
    const fs::path weights = modelFolder(options.path);
    const fs::path recipe =
        fs::exists(weights / "recipe.json") ? weights / "recipe.json" : weights / ".." / ".." / "recipe.json";
    if (!fs::exists(recipe))
        throw Error({.what = "is no training run: it has no recipe.json",
                     .where = options.path,
                     .hint = "name the folder of a run, one of its checkpoints, or a model that was trained here"});
    Trainer trainer(readRecipe(recipe),
                    {.device = options.device.empty() ? std::nullopt : std::optional(options.device)});
    loadWeights(trainer, weights);
    const Split split = options.split == "test"    ? Split::Test
                        : options.split == "train" ? Split::Train
                                                   : Split::Validation;
    const int64_t count = exampleCount(trainer, split);
    for (const std::string& place : options.closed) {
        int layer = 0, head = 0, end = 0;
        if (std::sscanf(place.c_str(), "%d.%d%n", &layer, &head, &end) != 2 || end != static_cast<int>(place.size()))
            throw Error({.what = fmt::format("\"{}\" is not of the form layer.head", place),
                         .where = "--close",
                         .hint = "for example: --close 3.5"});
        trainer.setEvaluationGate(layer, head, 0);
    }
    const Trainer::Evaluation evaluation = trainer.evaluate(split, count);
    printEvaluation(trainer, evaluation, options.split);
    if (trainer.images()) printConfusion(trainer, evaluation);
    if (!options.sweepsHeads) return kDone;
    const std::vector<LayerAttention>& layers = trainer.objective().layers();
    for (int layer = 0; layer < static_cast<int>(layers.size()); ++layer)
        for (int head = 0; head < static_cast<int>(layers[static_cast<size_t>(layer)].heads.heads); ++head) {
            trainer.setEvaluationGate(layer, head, 0);
            fmt::print("without layer {} head {}: ", layer, head);
            printEvaluation(trainer, trainer.evaluate(split, std::min<int64_t>(count, 256)), options.split);
            std::fflush(stdout);
            trainer.setEvaluationGate(layer, head, 1);
        }
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
    command->add_option_function<std::string>(
        "--data", [=](const std::string& path) { options->fields["data"] = fs::absolute(path).string(); },
        "folder of pictures, for the tasks images and fashion-mnist");
    text("--family", "family", "gpt2 or llama; vit for tasks over pictures");
    number("--patch", "patch", "pixels on a side of a patch (vit)");
    text("--pooling", "pooling", "what the head reads: cls, or the mean of the patches (vit)");
    text("--positions", "positions", "learned, sinusoidal or none (vit)");
    number("--window", "window", "tokens on a side of Swin's windows; 0: none (vit, --pooling mean)");
    number("--merges", "merges", "how often 2 x 2 tokens become one, as in Swin (vit, --pooling mean)");
    number("--pooled-tokens", "pooled_tokens", "tokens that are left from the middle layer on; 0: all (vit)");
    number("--layers", "layers", "blocks");
    number("--heads", "heads", "heads of each");
    number("--key-value-heads", "key_value_heads", "0: as many as heads");
    number("--width", "width", "of the residual stream");
    number("--feed-forward", "feed_forward", "its width; 0: 4 widths, or 8/3 of it (llama)");
    text("--activation", "activation", "gelu_new, gelu or relu (gpt2)");
    command->add_flag_function(
        "--no-bias", [=](int64_t) { options->fields["bias"] = false; }, "keep every bias at zero (gpt2)");
    command->add_flag_function(
        "--attention-only", [=](int64_t) { options->fields["attention_only"] = true; },
        "no feed-forward layers (gpt2)");
    text("--attention", "attention",
         "compose it of parts, as in 'position=alibi, mask=causal & window(32)'; several between\nsemicolons take "
         "turns from layer to layer");
    number("--initial-deviation", "initial_deviation", "of matrices before training");
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
                    "--steps 2000 --out runs/book\n"
                    "  attention-cli train --task fashion-mnist --out runs/fashion\n"
                    "  attention-cli train --task images --data pictures --set size=64 --patch 8 --out runs/pictures");
    command->callback([=, &run] { run = [=] { return train(*options); }; });
}

void addEval(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("eval", "measure what a training run has reached");
    const auto options = std::make_shared<EvalOptions>();
    command->add_option("DIR", options->path, "folder of the run, or one of its checkpoints")->required();
    command->add_option("--split", options->split, "which examples")
        ->check(CLI::IsMember({"validation", "test", "train"}))
        ->capture_default_str();
    command->add_option("--device", options->device, "index or part of the name of a Vulkan device");
    command->add_option("--close", options->closed, "close the gate of a head, as layer.head (repeat for more)");
    command->add_flag("--sweep-heads", options->sweepsHeads, "then measure it without each head in turn");
    command->callback([=, &run] { run = [=] { return evaluate(*options); }; });
}

} // namespace attn::cli
