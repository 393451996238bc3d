#include "app/cli/command.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/io/image.h"
#include "engine/models/model_source.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace attn::cli {
namespace {

struct ClassifyOptions {
    ModelOptions model;
    ImageOptions picture;
    PromptOptions prompt;
    int top = 5;
    bool json = false;
};

/// A probability in per cent, or the number of a regression.
std::string shown(float said, ClassActivation activation) {
    const auto value = static_cast<double>(said);
    return activation == ClassActivation::None ? fmt::format("{:10.4f}", value) : fmt::format("{:6.2f} %", value * 100);
}

/// Explains the printed numbers, unless they are probabilities that sum to 1.
void noteActivation(ClassActivation activation) {
    if (activation != ClassActivation::Softmax) fmt::print(stderr, "attention-cli: {}\n", meaningOf(activation));
}

/// @throws Error for a model without a readout of classes
int classifyText(const Command& command, const ClassifyOptions& options) {
    const auto model = options.model.open(false);
    if (model->config().classReadout().labels.empty())
        throw Error({.what = "this model has no classes",
                     .where = model->info().name,
                     .hint = "train one with the task classify, tag, answer or next-sentence"});
    if (model->config().readout() == TextReadout::TokenClass)
        refuseIdle(command, {"--top"}, "a class of each token", "classes of a whole text, and answers");
    const TextInput input = options.prompt.encodeInput(*model);
    model->predict(input);
    const TextClasses classes = *model->classes();
    requireLogits(classes.logits, model->info().name, classes.activation);
    const bool isSpan = classes.readout == TextReadout::Span, isOne = readsOneRow(classes.readout);
    const auto textOf = [&](const ClassAnswer& answer) {
        const std::vector<int> ids(input.tokens.begin() + answer.begin, input.tokens.begin() + answer.end);
        return model->tokenizer() ? model->tokenizer()->decode(ids, false) : fmt::format("{}", fmt::join(ids, " "));
    };
    nlohmann::json rows = nlohmann::json::array();
    std::vector<ClassAnswer> answers = classAnswers(classes, options.top);
    if (isOne) answers.resize(std::min(answers.size(), static_cast<size_t>(options.top)));
    for (const ClassAnswer& answer : answers) {
        const int token = input.tokens[static_cast<size_t>(answer.begin)];
        if (classes.readout == TextReadout::TokenClass && model->tokenizer() && model->tokenizer()->isSpecial(token))
            continue;
        const std::string& label = classes.labels[static_cast<size_t>(answer.label)];
        const std::string text = isOne ? std::string() : textOf(answer);
        nlohmann::json row{{"probability", answer.probability}, {"logit", answer.logit}};
        if (!isSpan) row.update({{"index", answer.label}, {"label", label}});
        if (!isOne) row.update({{"text", text}, {"first_token", answer.begin}, {"last_token", answer.end - 1}});
        rows.push_back(row);
        if (!options.json)
            fmt::print("{}  {}\n", shown(answer.probability, classes.activation),
                       printable(isOne    ? label
                                 : isSpan ? text
                                          : text + "  " + label));
    }
    if (!options.json)
        noteActivation(classes.activation);
    else
        print(nlohmann::json{{"model", model->info().name},
                             {"tokens", input.tokens},
                             {"activation", nameOf(classes.activation)},
                             {isOne    ? "classes"
                              : isSpan ? "answers"
                                       : "words",
                              rows}},
              model->info());
    return kDone;
}

int classify(const Command& command, const ClassifyOptions& options) {
    if (options.picture.image.empty() && axisOfModel(options.model.path) != AxisKind::Patches)
        return classifyText(command, options);
    if (options.picture.image.empty())
        throw Error({.what = "this model reads a picture, and none is given",
                     .where = options.model.path,
                     .hint = "give --image FILE"});
    const Image image = options.picture.read();
    const auto model = options.model.openVision(options.picture.asked);
    const ModelInfo& info = model->info();
    const std::vector<std::string> notes = notesOn(image, *model);
    const std::vector<float> logits = model->predict(model->patchesOf(image));
    requireLogits(logits, info.name, info.activation);
    const std::vector<float> shares = saidOf(logits, info.activation);
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int index) { return logits[static_cast<size_t>(index)]; });
    order.resize(std::min(order.size(), static_cast<size_t>(options.top)));
    nlohmann::json classes = nlohmann::json::array();
    for (const int index : order) {
        const auto at = static_cast<size_t>(index);
        if (options.json)
            classes.push_back(
                {{"index", index}, {"label", info.labelOf(index)}, {"probability", shares[at]}, {"logit", logits[at]}});
        else
            fmt::print("{}  {}\n", shown(shares[at], info.activation), printable(info.labelOf(index)));
    }
    if (!options.json)
        noteActivation(info.activation);
    else
        print(nlohmann::json{{"model", info.name},
                             {"image", options.picture.image},
                             {"width", info.image.width},
                             {"height", info.image.height},
                             {"activation", nameOf(info.activation)},
                             {"classes", classes}},
              info, notes);
    return kDone;
}

} // namespace

void addClassify(Command& command) {
    const auto options = std::make_shared<ClassifyOptions>();
    command.about(
        "Prints the most probable classes with their probabilities: of a text or of a pair of texts, of each token, or "
        "of a picture (ViT, DeiT, DINOv2 and Swin, in the layouts of Hugging Face and timm); or the most probable "
        "answers in a passage (--prompt is the question, --second the passage). As in transformers' question "
        "answering, an answer lies in the passage without the tokens around it, and the probabilities of its "
        "beginning and its end are shared with [CLS], which means that there is no answer; it may have any length. As "
        "in transformers, "
        "problem_type in config.json decides what a probability is: softmax (one class of several; they sum to 1), "
        "sigmoid (multi_label_classification, or a single label: each label is there or not), or none (regression: the "
        "number itself, in the place of the probability).");
    options->model.addTo(command);
    options->picture.addTo(command, false);
    options->prompt.addTo(command);
    options->prompt.addPairTo(command);
    options->prompt.addTreeTo(command);
    command.option("--top N", options->top, "number of classes or answers to print").range(1, 100000);
    addJson(command, options->json);
    command.example("attention-cli classify runs/opinions --prompt 'what a fine day'");
    command.example("attention-cli classify builtin:vit-shapes --image circle.png --top 3");
    command.action([=, &command] { return classify(command, *options); });
}

} // namespace attn::cli
