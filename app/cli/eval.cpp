#include "app/arguments/run_program.h"
#include "app/cli/command.h"
#include "app/cli/label_eval.h"
#include "app/cli/printed_evaluation.h"
#include "app/cli/progress_line.h"

#include "engine/models/bundled.h"
#include "engine/models/model_source.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/recipe.h"
#include "engine/training/run.h"
#include "engine/training/run_data.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

/// Measures without each head in turn. @param closed heads that are removed already
/// @param json receives the measures instead of standard output, if it is not null
void sweepHeads(Trainer& trainer, Split split, const Evaluation& all, const std::vector<std::pair<int, int>>& closed,
                const EvalOptions& options, nlohmann::json* json) {
    const ModelStructure& structure = trainer.objective().structure();
    constexpr int64_t kMostSwept = 256;
    const int64_t count = exampleCount(trainer, split), swept = std::min(count, kMostSwept);
    const auto tell = [&](const std::string& what, std::string_view key, const Evaluation& measured) {
        if (!json) {
            fmt::print("{}: ", what);
            printEvaluation(trainer, measured, options.split);
            flushOutput();
        } else if (key.empty()) {
            (*json)["with_every_head"] = evaluationJson(trainer, measured);
        } else {
            (*json)["without"].push_back({{"name", key}, {"scores", evaluationJson(trainer, measured)}});
        }
    };
    tell(fmt::format("with every {}head", closed.empty() ? "" : "other "), {}, // measured on the examples of the sweep
         swept < count ? trainer.evaluate(split, swept) : all);
    ProgressLine line;
    int64_t done = 0, heads = 0;
    for (const Site& site : structure.sites) heads += site.heads;
    for (int site = 0; site < static_cast<int>(structure.sites.size()); ++site)
        for (int head = 0; head < structure.sites[static_cast<size_t>(site)].heads; ++head) {
            line.show(ofSteps(done++, heads));
            if (std::ranges::find(closed, std::pair(site, head)) != closed.end()) continue;
            trainer.setEvaluationGate(site, head, 0);
            const Evaluation without = trainer.evaluate(split, swept);
            line.clear();
            const std::string name = fmt::format("{} H{}", structure.labelOf(site), head);
            tell("without " + name, name, without);
            trainer.setEvaluationGate(site, head, 1);
        }
}

int evaluate(const EvalOptions& options) {
    const fs::path weights = modelFolder(options.path);
    std::error_code error;
    const fs::path recipe =
        fs::exists(weights / "recipe.json", error) ? weights / "recipe.json" : weights / ".." / ".." / "recipe.json";
    if (!options.data.empty()) return evaluateLabels(options, recipe);
    requireRun(options.path, recipe,
               "; for another model of classes, give --data FILE with labelled texts or pictures");
    const auto source = openModelSource(weights.string());
    if (source->config().classReadout().activation != ClassActivation::Softmax) return evaluateLabels(options, recipe);
    std::vector<std::string> warnings = source->warnings();
    Trainer trainer(readRecipe(recipe), options.device);
    if (std::string change = changeOfData(recipe.parent_path(), [&] { return dataOf(trainer); }); !change.empty())
        warnings.push_back(std::move(change));
    printWarnings(warnings);
    loadWeights(trainer, weights);
    const Split split = options.split == "test"    ? Split::Test
                        : options.split == "train" ? Split::Train
                                                   : Split::Validation;
    const int64_t count = exampleCount(trainer, split);
    const auto closed = closedHeads(options);
    for (const auto& [site, head] : closed) trainer.setEvaluationGate(site, head, 0);
    const Evaluation evaluation = trainer.evaluate(split, count);
    nlohmann::json json = evaluationJson(trainer, evaluation);
    nlohmann::json* const to = options.json ? &json : nullptr;
    json.update(
        {{"model", source->config().name}, {"path", options.path}, {"split", options.split}, {"warnings", warnings}});
    if (!to) printEvaluation(trainer, evaluation, options.split);
    printBleu(trainer, split, options.split, to);
    printSpans(trainer, split, options.split, to);
    if (const ImageObjective* images = imagesOf(trainer)) {
        if (!to) printConfusion(trainer, evaluation);
        json["labels"] = images->instance().labels();
        json["confusion"] = evaluation.confusion; // [right class, class that is said]
    }
    if (options.sweepsHeads) sweepHeads(trainer, split, evaluation, closed, options, to);
    if (to) print(json);
    return kDone;
}

} // namespace

void addEval(Command& command) {
    const auto options = std::make_shared<EvalOptions>();
    command.about(
        "A training run is measured on the examples of its task. --data measures any model that answers with classes, "
        "with several labels or with numbers, on a table of your own: CSV, JSON (an object a line) or fields with "
        "tabs. Its first line names the columns: text (and second) or file_name of a picture in the same folder, and "
        "labels, with several separated by | ; or a comma, as in a;b; or a column for each label with 1 or 0. Numbers "
        "have a decimal point, and several have | or ; between them, as in 1.5;2; a comma between numbers counts only "
        "in a CSV file with commas between its columns, in a cell with quotes around it. A warning names the columns "
        "that nothing reads. Of pictures it may be a folder with metadata.csv, or with a folder for each label.");
    command.about("One class of several: accuracy. Several labels: exact match, where a label is said from a "
                  "probability of 50 % on. "
                  "Both: precision, recall and F1 of each label, micro mean (of all labels together) and macro mean "
                  "(of the labels). "
                  "Numbers: mean squared and mean absolute error, and the correlations of Pearson and Spearman.");
    command
        .argument("DIR", options->path,
                  "folder of a training run, one of its checkpoints, a model folder, or a built-in model")
        .required();
    const Option& data = command.option("--data FILE", options->data, "labelled texts or pictures to measure on");
    command.option("--split SPLIT", options->split, "examples of the training run to measure on")
        .choices({"validation", "test", "train"})
        .excludes(data);
    addDevice(command, options->device);
    command.option("--close LAYER.HEAD", options->closed,
                   "remove this head first, for example 3.5; repeat it for more");
    command.flag(
        "--sweep-heads", options->sweepsHeads,
        "also measure without each head in turn, on the first 256 examples; the first line has every head on the same "
        "examples");
    addJson(command, options->json);
    command.example("attention-cli eval builtin:sort --sweep-heads");
    command.example("attention-cli eval runs/opinions --data more_opinions.csv");
    command.action([=] { return evaluate(*options); });
}

} // namespace attn::cli
