#include "app/cli/label_eval.h"

#include "app/arguments/numbers.h"
#include "app/arguments/run_program.h"
#include "app/cli/command.h"
#include "app/cli/progress_line.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/data/labelled_rows.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/label_scores.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/bundled.h"
#include "engine/models/model_source.h"
#include "engine/training/checkpoint.h"
#include "engine/training/recipe.h"
#include "engine/training/run_data.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/image_task.h"
#include "engine/training/tasks/readout_task.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

/// A model with the examples on which it is measured.
struct Measured {
    std::unique_ptr<RunningModel> model{};
    std::vector<std::string> labels{};
    std::vector<Input> inputs{};            ///< of texts
    std::function<Input(size_t)> picture{}; ///< of pictures, which are too large to keep
    size_t examples = 0, cut = 0;           ///< cut: texts of which the model reads only the beginning
    std::vector<double> targets{};          ///< [examples, labels]
    std::string split{};                    ///< what the examples are
    std::vector<std::string> warnings{};    ///< of the examples

    Input input(size_t index) const { return picture ? picture(index) : inputs[index]; }
    ClassActivation activation() const { return model->info().activation; }
};

[[noreturn]] void refuseTask(const Task& task, const ModelInfo& info, const char* why) {
    throw Error(
        {.what = fmt::format("{} cannot be measured on the examples of the task {}: {}", info.name, task.id, why),
         .where = "eval",
         .hint = "give --data FILE, a table with a text or a picture and its labels or numbers on each line"});
}

/// Adds rows of texts, of which longer ones are cut.
void addTexts(Measured& measured, const std::vector<LabelledRow>& rows) {
    auto& model = static_cast<LanguageModel&>(*measured.model);
    for (const LabelledRow& row : rows) {
        TextInput input;
        if (model.info().readsSource || !model.tokenizer()) { // encodeInput() names what it lacks
            PromptOptions prompt;
            (model.info().readsSource ? prompt.source : prompt.text) = row.text;
            input = prompt.encodeInput(model);
        } else {
            if (!row.second.empty() && !model.info().readsPairs)
                throw Error({.what = "this model reads one text, not a pair",
                             .where = model.info().name,
                             .hint = "leave the second text out of the table, or add it to the first"});
            Encoding encoding = row.second.empty() ? model.tokenizer()->read(row.text)
                                                   : model.tokenizer()->readPair(row.text, row.second);
            const size_t length = encoding.ids.size();
            shorten(encoding, *model.tokenizer(), static_cast<size_t>(model.wholeCapacity()));
            measured.cut += encoding.ids.size() < length ? 1 : 0;
            input = {.tokens = std::move(encoding.ids), .types = std::move(encoding.types)};
        }
        measured.inputs.emplace_back(std::move(input));
    }
}

/// The examples of the run's task.
void addExamples(Measured& measured, const EvalOptions& options, const fs::path& recipeFile) {
    const Recipe recipe = readRecipe(recipeFile);
    const Task& task = taskNamed(recipe.task);
    const auto noteChange = [&](const std::vector<fs::path>& pictures) {
        std::string change =
            changeOfData(recipeFile.parent_path(), [&] { return dataOf(task, recipe.settings.data, pictures); });
        if (!change.empty()) measured.warnings.push_back(std::move(change));
    };
    const ModelInfo& info = measured.model->info();
    if ((measured.activation() == ClassActivation::None) != (task.activation == ClassActivation::None))
        refuseTask(task, info,
                   task.activation == ClassActivation::None ? "they have numbers, and the model says classes"
                                                            : "they have classes, and the model says numbers");
    const Split split = options.split == "test"    ? Split::Test
                        : options.split == "train" ? Split::Train
                                                   : Split::Validation;
    measured.split = options.split;
    const size_t width = measured.labels.size();
    if (info.inputAxis() == AxisKind::Patches) {
        constexpr uint64_t kOfEndless = 1024;
        TaskSettings settings = recipe.settings;
        settings.data.modelLabels = measured.labels;
        const std::shared_ptr<const ImageTaskInstance> instance = makeImageTask(task, settings);
        if (instance->labels() != measured.labels) refuseTask(task, info, "it has other classes");
        noteChange(instance->files());
        measured.examples = instance->rowCount(split).value_or(kOfEndless);
        measured.targets.resize(measured.examples * width);
        for (size_t i = 0; i < measured.examples; ++i) {
            const LabelledImage example = instance->example(split, i);
            if (example.numbers.empty()) measured.targets[i * width + static_cast<size_t>(example.label)] = 1;
            std::ranges::copy(example.numbers, measured.targets.begin() + static_cast<std::ptrdiff_t>(i * width));
        }
        measured.picture = [instance, split, model = static_cast<VisionModel*>(measured.model.get())](size_t index) {
            return model->patchesOf(instance->example(split, index).picture);
        };
        return;
    }
    if (task.readout != TextReadout::TextClass) refuseTask(task, info, "they have no labels of a whole text");
    std::string remark;
    std::vector<LabelledRow> rows = readLabelledRows(recipe.settings.data.text, measured.labels,
                                                     labelKindOf(measured.activation()), false, &remark);
    if (!remark.empty()) measured.warnings.push_back(remark);
    noteChange({});
    std::erase_if(rows, [&](const LabelledRow& row) { return isForValidation(row.text) == (split == Split::Train); });
    for (const LabelledRow& row : rows)
        measured.targets.insert(measured.targets.end(), row.targets.begin(), row.targets.end());
    measured.examples = rows.size();
    addTexts(measured, rows);
}

/// The rows of a person's table.
void addRows(Measured& measured, const std::string& data) {
    const bool ofPictures = measured.model->info().inputAxis() == AxisKind::Patches;
    std::string remark;
    std::vector<LabelledRow> rows =
        readLabelledRows(data, measured.labels, labelKindOf(measured.activation()), ofPictures, &remark);
    if (!remark.empty()) measured.warnings.push_back(remark);
    for (const LabelledRow& row : rows)
        measured.targets.insert(measured.targets.end(), row.targets.begin(), row.targets.end());
    measured.examples = rows.size();
    measured.split = fs::path(data).filename().string();
    if (!ofPictures) return addTexts(measured, rows);
    measured.picture = [rows = std::move(rows), model = static_cast<VisionModel*>(measured.model.get())](size_t index) {
        ImageOptions file;
        file.image = rows[index].picture.string();
        return model->patchesOf(file.read());
    };
}

Measured opened(const EvalOptions& options, const fs::path& recipe) {
    ModelOptions model;
    model.path = options.path;
    model.device = options.device;
    Measured measured;
    if (axisOfModel(options.path) == AxisKind::Patches) {
        measured.model = model.openVision({});
        const ModelInfo& info = measured.model->info();
        for (int label = 0; label < measured.model->choices(); ++label) measured.labels.push_back(info.labelOf(label));
    } else {
        auto text = model.open(false);
        measured.labels = text->config().classReadout().labels;
        if (measured.labels.empty() || !readsOneRow(text->config().classReadout().kind))
            throw Error({.what = measured.labels.empty() ? "this model has no classes"
                                 : text->config().classReadout().kind == TextReadout::Span
                                     ? "this model answers with words of a passage"
                                     : "this model answers with a class of each token",
                         .where = text->info().name,
                         .hint = "name a model that answers with classes or numbers of a whole text or a picture"});
        measured.model = std::move(text);
    }
    if (options.data.empty())
        addExamples(measured, options, recipe);
    else
        addRows(measured, options.data);
    if (measured.examples == 0)
        throw Error({.what = fmt::format("there are no examples to measure in the part \"{}\"", measured.split),
                     .where = "eval",
                     .hint = "choose another part with --split, or give --data FILE with more examples"});
    if (measured.cut > 0)
        measured.warnings.push_back(fmt::format("{} of {} texts are longer than the model reads and were cut",
                                                measured.cut, measured.examples));
    printWarnings(measured.warnings);
    return measured;
}

/// @param examples how many are measured, from the first on
LabelScores scoresOf(const Measured& measured, size_t examples) {
    ProgressLine line;
    std::vector<float> logits;
    for (size_t i = 0; i < examples; ++i) {
        line.show(ofSteps(static_cast<int64_t>(i), static_cast<int64_t>(examples)));
        const std::vector<float> said = measured.model->predict(measured.input(i));
        requireLogits(said, measured.model->info().name, measured.activation());
        logits.insert(logits.end(), said.begin(), said.end());
    }
    line.clear();
    const auto labels = static_cast<int64_t>(measured.labels.size());
    LabelScores scores = labelScores(measured.activation(), labels, logits,
                                     std::span(measured.targets).first(examples * measured.labels.size()));
    requireFinite(std::array{scores.loss}, "losses", measured.model->info().name); // a right class may be barred
    return scores;
}

/// A correlation; there is none where one side does not vary.
std::string correlation(double value) { return std::isnan(value) ? "none" : fmt::format("{:.4f}", value); }

/// "validation loss 0.6931  exact match 12.50 % of 60".
void printScores(const LabelScores& scores, std::string_view split) {
    if (scores.activation == ClassActivation::None)
        fmt::print("{} mean squared error {:.4f}  mean absolute error {:.4f}  Pearson {}  Spearman {} of {}\n",
                   printable(split), scores.loss, meanOf(scores.numbers, &NumberScore::absoluteError),
                   correlation(meanOf(scores.numbers, &NumberScore::pearson)),
                   correlation(meanOf(scores.numbers, &NumberScore::spearman)), scores.examples);
    else
        fmt::print("{} loss {:.4f}  {} {:.2f} % of {}\n", printable(split), scores.loss,
                   scores.activation == ClassActivation::Softmax ? "accuracy" : "exact match", scores.exactMatch * 100,
                   scores.examples);
}

void printLabels(const LabelScores& scores, const std::vector<std::string>& labels) {
    const auto name = [](std::string_view label) { return fmt::format("{:<20.20}", printable(label)); };
    if (scores.activation == ClassActivation::None) {
        if (labels.size() < 2) return;
        fmt::print("{}{:>14}{:>14}{:>10}{:>10}\n", name("label"), "squared error", "abs. error", "Pearson", "Spearman");
        for (size_t i = 0; i < labels.size(); ++i) {
            const NumberScore& each = scores.numbers[i];
            fmt::print("{}{:>14.4f}{:>14.4f}{:>10}{:>10}\n", name(labels[i]), each.squaredError, each.absoluteError,
                       correlation(each.pearson), correlation(each.spearman));
        }
        return;
    }
    const auto row = [&](std::string_view label, double precision, double recall, double f1, int64_t examples) {
        fmt::print("{}{:>9.2f} %{:>9.2f} %{:>9.2f} %{:>10}\n", name(label), precision * 100, recall * 100, f1 * 100,
                   examples);
    };
    fmt::print("{}{:>11}{:>11}{:>11}{:>10}\n", name("label"), "precision", "recall", "F1", "examples");
    for (size_t i = 0; i < labels.size(); ++i) {
        const LabelScore& each = scores.labels[i];
        row(labels[i], each.precision(), each.recall(), each.f1(), each.there);
    }
    const LabelScore micro = scores.micro();
    const LabelScores::Means macro = scores.macro();
    row("micro mean", micro.precision(), micro.recall(), micro.f1(), micro.there);
    row("macro mean", macro.precision, macro.recall, macro.f1, micro.there);
}

/// A correlation is null where one side does not vary.
nlohmann::json scoresJson(const LabelScores& scores, const std::vector<std::string>& labels) {
    nlohmann::json json{
        {"examples", scores.examples}, {"activation", nameOf(scores.activation)}, {"loss", scores.loss}};
    nlohmann::json& rows = json["labels"] = nlohmann::json::array();
    const auto shares = [](double precision, double recall, double f1) {
        return nlohmann::json{{"precision", precision}, {"recall", recall}, {"f1", f1}};
    };
    if (scores.activation == ClassActivation::None) {
        for (size_t i = 0; i < labels.size(); ++i) {
            const NumberScore& each = scores.numbers[i];
            rows.push_back({{"label", labels[i]},
                            {"mean_squared_error", each.squaredError},
                            {"mean_absolute_error", each.absoluteError},
                            {"pearson", each.pearson},
                            {"spearman", each.spearman}});
        }
        json["mean_squared_error"] = scores.loss;
        json["mean_absolute_error"] = meanOf(scores.numbers, &NumberScore::absoluteError);
        json["pearson"] = meanOf(scores.numbers, &NumberScore::pearson);
        json["spearman"] = meanOf(scores.numbers, &NumberScore::spearman);
        return json;
    }
    for (size_t i = 0; i < labels.size(); ++i) {
        const LabelScore& each = scores.labels[i];
        nlohmann::json row = shares(each.precision(), each.recall(), each.f1());
        row.update({{"label", labels[i]}, {"examples", each.there}});
        rows.push_back(row);
    }
    const LabelScore micro = scores.micro();
    const LabelScores::Means macro = scores.macro();
    json[scores.activation == ClassActivation::Softmax ? "accuracy" : "exact_match"] = scores.exactMatch;
    json["micro"] = shares(micro.precision(), micro.recall(), micro.f1());
    json["macro"] = shares(macro.precision, macro.recall, macro.f1);
    return json;
}

} // namespace

std::vector<std::pair<int, int>> closedHeads(const EvalOptions& options) {
    std::vector<std::pair<int, int>> heads;
    for (const std::string& place : options.closed) {
        constexpr int64_t kMost = 65535; // far more layers and heads than a model has
        const auto numbers = wholeNumbers(place, ".");
        if (!numbers || std::ranges::min(*numbers) < 0 || std::ranges::max(*numbers) > kMost)
            throw Error({.what = fmt::format("\"{}\" is not written as LAYER.HEAD", place),
                         .where = "--close",
                         .hint = "write for example --close 3.5"});
        heads.emplace_back(static_cast<int>(numbers->front()), static_cast<int>(numbers->back()));
    }
    return heads;
}

int evaluateLabels(const EvalOptions& options, const fs::path& recipe) {
    const Measured measured = opened(options, recipe);
    const ModelInfo& info = measured.model->info();
    const auto closed = closedHeads(options);
    for (const auto& [site, head] : closed) {
        info.requireHead(site, head);
        measured.model->setGate(site, head, 0);
    }
    const LabelScores scores = scoresOf(measured, measured.examples);
    nlohmann::json json = scoresJson(scores, measured.labels);
    json.update({{"model", info.name}, {"path", options.path}, {"split", measured.split}});
    if (!options.json) {
        printScores(scores, measured.split);
        printLabels(scores, measured.labels);
        fmt::print(stderr, "attention-cli: {}\n", meaningOf(scores.activation));
    }
    if (!options.sweepsHeads) {
        if (options.json) print(std::move(json), info, measured.warnings);
        return kDone;
    }
    constexpr size_t kMostSwept = 256;
    const size_t swept = std::min(measured.examples, kMostSwept);
    const LabelScores base = swept < measured.examples ? scoresOf(measured, swept) : scores;
    if (options.json) {
        json["with_every_head"] = scoresJson(base, measured.labels);
    } else {
        fmt::print("with every {}head: ", closed.empty() ? "" : "other "); // measured on the examples of the sweep
        printScores(base, measured.split);
    }
    for (int site = 0; site < info.siteCount(); ++site)
        for (int head = 0; head < info.site(site).heads; ++head) {
            if (std::ranges::find(closed, std::pair(site, head)) != closed.end()) continue;
            measured.model->setGate(site, head, 0);
            const LabelScores without = scoresOf(measured, swept);
            measured.model->setGate(site, head, 1);
            const std::string name = fmt::format("{} H{}", info.structure.labelOf(site), head);
            if (options.json) {
                json["without"].push_back({{"name", name}, {"scores", scoresJson(without, measured.labels)}});
                continue;
            }
            fmt::print("without {}: ", name);
            printScores(without, measured.split);
            flushOutput();
        }
    if (options.json) print(std::move(json), info, measured.warnings);
    return kDone;
}

} // namespace attn::cli
