#include "app/cli/train.h"
#include "app/arguments/numbers.h"
#include "app/cli/command.h"
#include "app/cli/printed_evaluation.h"
#include "app/cli/progress_line.h"

#include "engine/analysis/weight_changes.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/bundled.h"
#include "engine/models/head_name.h"
#include "engine/system/signals.h"
#include "engine/training/answers.h"
#include "engine/training/recipe_fields.h"
#include "engine/training/run.h"
#include "engine/training/starting_loss.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stopRequested = 0;
void requestStop(int) { stopRequested = 1; }

/// Asks the training to save and end when the user or the system stops the program or when its terminal is closed.
void stopOnSignals() {
    handleSignals({SIGINT, SIGTERM, SIGHUP}, requestStop);
    std::signal(SIGPIPE, SIG_IGN); // even without a reader of the progress, the folder is complete
}

/// Prints progress. A terminal that was closed must not end the training.
template <class... Values> void report(fmt::format_string<Values...> text, Values&&... values) {
    const std::string line = fmt::format(text, std::forward<Values>(values)...);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

struct TrainOptions {
    std::string recipe, out, exportBatches;
    DeviceChoice device;
    bool resumes = false;
    nlohmann::json fields = nlohmann::json::object(); // of the recipe, as named on the command line
    std::vector<std::string> values;                  // "id=number" of the task
};

/// The values of the task from --set. @throws Error
std::map<std::string, double> taskValues(const TrainOptions& options) {
    std::map<std::string, double> values;
    for (const std::string& value : options.values) {
        const size_t equals = value.find('=');
        const auto number = equals == std::string::npos ? std::nullopt : finiteNumber(value.substr(equals + 1));
        if (!number)
            throw Error({.what = fmt::format("\"{}\" is not written as NAME=NUMBER", value),
                         .where = "--set",
                         .hint = "write for example --set digits=6"});
        values[value.substr(0, equals)] = *number;
    }
    return values;
}

/// @throws Error if the options differ from the recipe of the training run that they continue
void requireSame(const TrainOptions& options, const nlohmann::json& kept) {
    const auto refuse = [](std::string_view option, const std::string& has) {
        throw Error(
            {.what = fmt::format("the training run continues with its own recipe, which has {}", has),
             .where = std::string(option.substr(0, option.find(' '))),
             .hint = "leave the option out, or start another training run with --from and the folder of this one"});
    };
    if (!options.recipe.empty() && toJson(readRecipe(options.recipe)) != kept)
        refuse("--recipe", "other values than this file");
    for (const auto& [id, value] : options.fields.items())
        if (const auto found = kept.find(id); found == kept.end() || *found != value)
            refuse(findRecipeField(id)->option, found == kept.end() ? "none" : found->dump());
    for (const auto& [id, value] : taskValues(options))
        if (const auto& values = kept.at("values"); !values.contains(id) || values.at(id) != value)
            refuse("--set", fmt::format("{} = {}", id, values.contains(id) ? values.at(id).dump() : "its default"));
}

Recipe recipeOf(const TrainOptions& options) {
    const fs::path kept = fs::path(options.out) / "recipe.json";
    if (options.resumes) {
        requireRun(options.out, kept);
        Recipe recipe = readRecipe(kept);
        requireSame(options, toJson(recipe));
        return recipe;
    }
    const std::string task = options.fields.value("task", Recipe{}.task);
    nlohmann::json json =
        toJson(options.recipe.empty() ? suggestedRecipe(taskNamed(task), options.fields.value("from", std::string()))
                                      : readRecipe(options.recipe));
    const bool startsElsewhere = options.fields.contains("from") && options.fields.at("from") != json.at("from");
    const auto asksForModel = [&](const RecipeField& field) {
        return (field.describesModel || field.id == "attention") && options.fields.contains(field.id);
    };
    if (startsElsewhere) { // because the file describes another model
        for (const RecipeField& field : recipeFields())
            if (field.describesModel) json.erase(field.id);
        json["attention"] = "";
    }
    if (startsElsewhere || std::ranges::any_of(recipeFields(), asksForModel)) json["from_hash"] = "";
    json.update(options.fields);
    for (const auto& [id, value] : taskValues(options)) json["values"][id] = value;
    Recipe recipe = recipeFromJson(json, options.recipe.empty() ? "the command line" : options.recipe);
    std::set<std::string> given;
    for (const auto& [id, value] : options.fields.items()) given.insert(id);
    for (const std::string& idle : idleOptions(recipe, given)) report("warning: {}\n", idle);
    if (!recipe.start.model.empty() && (given.contains("init") || given.contains("initial_deviation")))
        report("warning: only parameters that {} lacks get initial weights; the others are the model's\n",
               recipe.start.model);
    return recipe;
}

/// Does what other programs ask of the run, such as attention-cli jobs; returns when it may continue or has to stop.
void obeyOthers(TrainingRun& run) {
    constexpr std::chrono::milliseconds kBetweenLooks{100};
    for (bool isPaused = false; stopRequested == 0;) {
        const auto request = takeRequest(run.folder());
        if (request == JobRequest::Stop) stopRequested = 1;
        if (request) isPaused = request == JobRequest::Pause;
        if (!isPaused) return;
        if (request) {
            run.save();
            run.job().setState(JobState::Paused);
            report("paused after step {}\n", run.trainer().stepsDone());
        }
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

void exportBatches(const Trainer& trainer, const std::string& path) {
    const Recipe& recipe = trainer.recipe();
    Batch all;
    for (int64_t step = 0; step < recipe.schedule.steps; ++step)
        all.append(trainer.objective().batch(Split::Train, static_cast<uint64_t>(step), recipe.batch));
    std::vector<WrittenTensor> tensors;
    for (const auto& [name, values] : all.integers)
        tensors.push_back(
            {.name = name, .shape = {recipe.schedule.steps, recipe.batch, all.width(name)}, .integers = values});
    if (const std::vector<float>& numbers = all.numbersOf(Batch::kTargets); !numbers.empty())
        tensors.push_back({.name = Batch::kTargets,
                           .shape = {recipe.schedule.steps, recipe.batch, trainer.losses().front().width},
                           .values = numbers});
    if (const ImageObjective* images = imagesOf(trainer)) {
        const int64_t count = images->config().patches.grid().area();
        const std::vector<float>& patches = all.numbersOf(Batch::kPatches);
        tensors.push_back({.name = "patches",
                           .shape = {recipe.schedule.steps, recipe.batch, count,
                                     std::ssize(patches) / std::max<int64_t>(all.rows * count, 1)},
                           .values = patches});
    }
    writeSafetensors(path, tensors);
}

/// "12 x 64 tokens", "64 pictures".
std::string batchText(const Trainer& trainer) {
    const int rows = trainer.recipe().batch;
    return imagesOf(trainer) ? fmt::format("{} pictures", rows)
                             : fmt::format("{} x {} tokens", rows, sequencesOf(trainer)->instance().contextLength());
}

/// "81920 parameters"; after a start from a model "5120 trained parameters (0.57 % of the model's 890624)".
std::string parameterText(const Trainer& trainer) {
    const int64_t trained = trainer.parameterCount(), all = trainer.modelParameterCount();
    if (trainer.recipe().start.model.empty()) return fmt::format("{} parameters", trained);
    return fmt::format("{} trained parameters ({:.2f} % of the model's {})", trained,
                       100 * static_cast<double>(trained) / static_cast<double>(all), all);
}

/// Prints how training changed the attention's matrices, if it started from a model.
void printChanges(const Trainer& trainer, const std::string& folder) {
    const std::string& start = trainer.recipe().start.model;
    if (start.empty()) return;
    fmt::print(
        "change of the attention's weight matrices against {}: norm of the difference as a share of the norm before, "
        "and rank of the difference\n",
        printable(start));
    for (const SiteChange& site : weightChanges(start, folder, [] { return stopRequested == 0; })) {
        fmt::print("  {:<11}", site.label);
        for (const MatrixChange& matrix : site.matrices)
            fmt::print("  {} {:6.2f} % {:>4}", matrix.name, matrix.norm * 100, matrix.rank());
        fmt::print("\n");
    }
}

/// The width of the windows in a stage.
std::string windowText(int64_t divisor) {
    return divisor == 1 ? "windows have their full width" : fmt::format("windows have 1/{} of their width", divisor);
}

/// @param resumes from the last checkpoint
int train(const TrainOptions& options, const Recipe& recipe, bool resumes) {
    TrainingRun run(options.out, recipe, options.device, resumes);
    Trainer& trainer = run.trainer();
    if (!options.exportBatches.empty()) exportBatches(trainer, options.exportBatches);

    fmt::print(stderr, "{}: {}, {} steps of {} on {}, {} kernels and {:.1f} MiB of activations and gradients a step\n",
               trainer.task().title, parameterText(trainer), recipe.schedule.steps, batchText(trainer),
               trainer.device().name(), trainer.kernelCount(), static_cast<double>(trainer.arenaBytes()) / (1 << 20));
    if (const std::string sentence = startSentence(trainer, options.device); !sentence.empty() && !resumes)
        report("{}\n", sentence);
    for (const std::string& warning : {dataWarning(recipe), emptyRowsWarning(trainer.recipe().architecture)})
        if (!warning.empty()) report("warning: {}\n", warning);
    stopOnSignals();
    ProgressLine line(false);
    const std::optional<Failure> old = run.problem(); // such as damaged lines of a run that continues: told once
    std::optional<Failure> problem;                   // the last reported problem
    const auto reportProblem = [&] {
        const std::optional<Failure> before = std::exchange(problem, run.problem());
        if (problem == before) return;
        line.clear();
        const bool isNews = problem && (!before || problem != old);
        report("{}\n", isNews ? "warning: " + problem->sentence() : "the metrics are written and measured again");
    };
    reportProblem();
    const auto start = Clock::now();
    const int64_t first = trainer.stepsDone();
    int64_t shown = trainer.stage();
    for (; !run.isFinished(); obeyOthers(run)) {
        if (stopRequested != 0) break;
        const MetricPoint point = run.advance();
        if (const int64_t stage = trainer.stage();
            recipe.schedule.stages > 1 && (stage != shown || point.step == first + 1)) {
            shown = stage;
            line.clear();
            report("stage {} of {} from step {} on: {}\n", stage + 1, recipe.schedule.stages, point.step,
                   windowText(recipe.schedule.windowDivisor(stage)));
        }
        reportProblem();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const double loss = point[metric_names::kLoss];
        const auto hidden = point.find(metric_names::kHiddenTokens);
        if (const auto validation = point.find(metric_names::kValidationLoss)) {
            line.clear();
            report("step {}  loss {:.4f}  validation {:.4f}  {} {:.4f}{}  {:.0f} s\n", point.step, loss, *validation,
                   trainer.task().metricName, point[metric_names::kMetric],
                   hidden ? fmt::format("  {} {:.4f}", metricTitle(metric_names::kHiddenTokens), *hidden) : "",
                   seconds);
        }
        line.show(run.progress(), fmt::format("  loss {:.4f}  {:.1f} ms a step", loss,
                                              1e3 * seconds / static_cast<double>(point.step - first)));
    }
    line.clear();
    if (stopRequested != 0 && !run.isFinished()) {
        run.save();
        report("stopped after step {}; continue with: attention-cli train --resume --out {}\n", trainer.stepsDone(),
               options.out);
        return 130;
    }
    if (const auto scale = trainer.lossScale())
        fmt::print("scale of the loss {:g}; {} of {} steps left out because gradients overflowed\n", scale->scale,
                   scale->skipped, trainer.stepsDone());
    run.finish();
    printEvaluation(trainer, trainer.evaluate(Split::Validation, exampleCount(trainer, Split::Validation)),
                    "validation");
    printBleu(trainer, Split::Validation, "validation");
    printSpans(trainer, Split::Validation, "validation");
    if (imagesOf(trainer))
        printEvaluation(trainer, trainer.evaluate(Split::Test, exampleCount(trainer, Split::Test)), "test");
    printChanges(trainer, options.out);
    if (!run.metricsProblem()) return kDone;
    report("the model is written, but the last metrics are not: {}\n", run.metricsProblem()->what);
    return kFailed;
}

int train(const TrainOptions& options) { return train(options, recipeOf(options), options.resumes); }

/// The help text of a field.
std::string helpOf(const RecipeField& field) {
    std::string help;
    if (!field.uses.empty()) help = fmt::format("{}: ", field.uses);
    help += field.help;
    if (!field.values.empty()) help += fmt::format(": {}", field.values);
    return help;
}

/// The option of a field. @param fields the values that were given
void addField(Command& command, const RecipeField& field, nlohmann::json& fields) {
    using Kind = RecipeField::Kind;
    const std::string name(field.option), id(field.id);
    nlohmann::json* const given = &fields;
    const auto take = [=](const auto& value) { (*given)[id] = value; };
    if (field.kind == Kind::Toggle) {
        command.flagAction(
            name, [=] { take(!name.starts_with("--no-")); }, helpOf(field));
        return;
    }
    if (field.kind == Kind::Path) {
        command.textOption(
            name,
            [=](const std::string& value) {
                std::error_code error;
                take(value.starts_with("builtin:") ? value : fs::absolute(value, error).string());
                return error ? fmt::format("{} cannot be found: {}", value, error.message()) : std::string();
            },
            helpOf(field));
        return;
    }
    Option& option = field.kind == Kind::Real    ? command.numberOption(name, take, helpOf(field))
                     : field.kind == Kind::Whole ? command.wholeNumberOption(name, take, helpOf(field))
                                                 : command.textOption(
                                                       name,
                                                       [=](const std::string& value) {
                                                           take(value);
                                                           return std::string();
                                                       },
                                                       helpOf(field));
    if (field.isNumber()) option.range(field.minimum, field.maximum);
    std::vector<std::string> choices;
    for (const RecipeChoice& choice : field.choices) choices.emplace_back(choice.id);
    if (field.kind == Kind::Choice) option.choices(std::move(choices));
    const nlohmann::json usual = toJson(suggestedRecipe(taskNamed(Recipe{}.task))).at(id);
    option.defaultText(usual.is_string() ? usual.get<std::string>() : usual.dump());
}

} // namespace

int continueTraining(const std::string& folder, const DeviceChoice& device) {
    const TrainOptions options{.recipe = {}, .out = folder, .exportBatches = {}, .device = device, .values = {}};
    return train(options, readRecipe(fs::path(folder) / "recipe.json"), hasCheckpoint(folder));
}

void addTrain(Command& command) {
    const auto options = std::make_shared<TrainOptions>();
    const Recipe initial;
    command.about("Writes a folder with the recipe, metrics.jsonl and checkpoints, each a Hugging Face folder that all "
                  "programs open. After Ctrl-C or a crash, --resume continues the training run.");
    command.about(fmt::format("Each task has its own defaults; those below are for the task {}.", initial.task));
    command.option("--out DIR", options->out, "folder of the training run").required();
    command.option("--recipe FILE", options->recipe, "recipe.json to start from; other options change it");
    command.flag("--resume", options->resumes, "continue from the last checkpoint; the result is the same to the bit");
    addDevice(command, options->device);
    command.option("--set NAME=NUMBER", options->values,
                   "setting of the task, for example digits=6; repeat it for more");
    for (const RecipeField& field : recipeFields())
        if (!field.option.empty()) addField(command, field, options->fields);
    command
        .wholeNumberOption(
            "--context N", [=](int64_t value) { options->values.push_back(fmt::format("context={}", value)); },
            "tasks over a text: tokens of a sequence")
        .atLeast(1);
    command.option("--export-batches FILE", options->exportBatches,
                   "also write every batch to this .safetensors file, to repeat the training run elsewhere");
    std::vector<std::pair<std::string, std::string>> taskRows;
    for (const Task* task : taskCatalogue())
        taskRows.emplace_back(task->id,
                              std::string(task->summary) +
                                  (task->citation.empty() ? "" : fmt::format(". Source: {}.", task->citation)));
    command.list("Tasks", std::move(taskRows));
    command.example("attention-cli train --task sort --steps 1000 --lr 3e-3 --beta2 0.98 --out runs/sort");
    command.example("attention-cli train --task text --text book.txt --context 64 --layers 4 --width 128 --batch 12 "
                    "--steps 2000 --out runs/book");
    command.example(
        "attention-cli train --from builtin:stories --task text --text book.txt --steps 200 --out runs/mine");
    command.example("attention-cli train --from builtin:stories --lora 8 --task text --text book.txt --out runs/small");
    command.example("attention-cli train --task fashion-mnist --out runs/fashion");
    command.example("attention-cli train --task images --data pictures --set size=64 --patch 8 --out runs/pictures");
    command.action([=] { return train(*options); });
}

} // namespace attn::cli
