#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"

#include "engine/analysis/class_lens.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/patch_head_kinds.h"
#include "engine/analysis/sweeps.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_source.h"
#include "engine/models/vision_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>

#include <unistd.h>

// `lens`, `ablate`, `patch` and `detect` for a picture.

namespace attn::cli {
namespace {

using Json = nlohmann::json;

/// @throws Error for a model that reads text
void requireVision(const std::string& path) {
    if (isVisionModel(path)) return;
    try {
        openModelSource(path);
    } catch (const Error&) {
        return; // opening it reports what is wrong
    }
    throw Error({.what = "this model reads text, not pictures",
                 .where = path,
                 .hint = "leave out --image, or name a vision model"});
}

/// A model with the patches of its picture.
struct AskedPicture {
    /// @param from another picture, which the model reads at the same size; empty: none
    explicit AskedPicture(const VisionQuestion& visionQuestion, const std::string& from = {})
        : question(visionQuestion) {
        requireVision(visionQuestion.model.path);
        std::vector<Image> pictures{visionQuestion.picture.read()}; // before a large model is loaded
        if (!from.empty()) pictures.push_back(ImageOptions{.image = from, .asked = {}}.read());
        model = openVision(visionQuestion.model, visionQuestion.picture.asked);
        patches = model->patchesOf(pictures.front());
        if (!from.empty()) other = model->patchesOf(pictures.back());
    }

    LogitTarget target() const { return classTarget(question.target, model->info()); }
    template <class Result> std::shared_ptr<Result> run(const Analysis& analysis) {
        return std::static_pointer_cast<Result>(runAnalysis(*model, patches, other, analysis));
    }
    Json classJson(int index) const { return {{"index", index}, {"label", model->info().labelOf(index)}}; }
    TargetName name(const LogitTarget& target) const {
        std::string text = fmt::format("logit of {}", inQuotes(model->info().labelOf(target.token)));
        Json json{{"class", classJson(target.token)}};
        if (target.other >= 0) {
            text += fmt::format(" minus that of {}", inQuotes(model->info().labelOf(target.other)));
            json["against"] = classJson(target.other);
        }
        return {std::move(text), std::make_shared<const Json>(std::move(json))};
    }

    const VisionQuestion& question;
    std::unique_ptr<VisionModel> model;
    std::vector<float> patches;
    std::optional<Input> other;
};

void classes(AskedPicture& input, int top) {
    const auto lens = input.run<ClassLens>(ClassLensAnalysis{});
    Json rows = Json::array();
    for (const ClassLens::Stage& stage : lens->stages) {
        std::vector<int> order(stage.probabilities.size());
        std::iota(order.begin(), order.end(), 0);
        const auto shareOf = [&](int index) { return stage.probabilities[static_cast<size_t>(index)]; };
        std::ranges::stable_sort(order, std::greater(), shareOf);
        order.resize(std::min(order.size(), static_cast<size_t>(top)));
        const std::string name = stage.layer < 0 ? "embedding" : fmt::format("layer {}", stage.layer);
        std::string says;
        Json choices = Json::array();
        for (const int index : order) {
            says += fmt::format("  {} {:.1f} %", printable(input.model->info().labelOf(index)),
                                static_cast<double>(shareOf(index)) * 100);
            Json each = input.classJson(index);
            each["probability"] = shareOf(index);
            choices.push_back(each);
        }
        rows.push_back({{"stage", name}, {"choices", choices}});
        if (!input.question.isJson) fmt::print("{:10}{}\n", name, says);
    }
    if (input.question.isJson) print({{"rows", rows}});
}

void contributions(AskedPicture& input) {
    LogitAttributionAnalysis analysis;
    analysis.target = input.target();
    const auto found = input.run<LogitAttribution>(analysis);
    printContributions(input.name(found->target), found->logit, found->components, Json::object(), "",
                       input.question.isJson);
}

void patchGradients(AskedPicture& input) {
    InputAttributionAnalysis analysis;
    analysis.target = input.target();
    const auto found = input.run<InputAttribution>(analysis);
    const TargetName target = input.name(found->target);
    Json rows = Json::array();
    if (!input.question.isJson)
        fmt::print("{}: {:+.4f}; for a picture of the mean colour: {:+.4f}\n{:>20} {:>20}\n", target.text,
                   static_cast<double>(found->logit), static_cast<double>(found->baselineLogit), "gradient x input",
                   "integrated");
    const int64_t columns = input.model->info().grid.width;
    for (size_t patch = 0; patch < found->gradientTimesInput.size(); ++patch) {
        const int64_t row = static_cast<int64_t>(patch) / columns, column = static_cast<int64_t>(patch) % columns;
        rows.push_back({{"row", row},
                        {"column", column},
                        {"gradient x input", found->gradientTimesInput[patch]},
                        {"integrated", found->integratedGradients[patch]}});
        if (!input.question.isJson)
            fmt::print("{:20.4f} {:20.4f}  patch {}, {}\n", static_cast<double>(found->gradientTimesInput[patch]),
                       static_cast<double>(found->integratedGradients[patch]), row, column);
    }
    if (input.question.isJson)
        print({{"target", *target.json},
               {"logit", found->logit},
               {"baselineLogit", found->baselineLogit},
               {"steps", found->steps},
               {"patches", rows}});
}

/// Heads that are similar to one of them, and groups of similar heads.
void compareHeads(const PatchHeadDetection& found, const VisionQuestion& question, const SimilarityOptions& options,
                  Json& json) {
    if (!options.like.empty()) {
        const size_t own = found.indexOf(options.like[0], options.like[1]);
        std::shared_ptr<const PatchHeadDetection> elsewhere;
        if (!options.in.empty()) {
            ModelOptions model = question.model;
            model.path = options.in;
            const VisionQuestion there{model, question.picture, question.target, question.isJson};
            AskedPicture other(there);
            elsewhere = other.run<PatchHeadDetection>(PatchHeadAnalysis{});
        }
        const PatchHeadDetection& others = elsewhere ? *elsewhere : found;
        const std::vector<float> similarities = similaritiesTo(found.prints[own], others);
        std::vector<SimilarHead> heads;
        for (size_t at = 0; at < similarities.size(); ++at)
            if (elsewhere || at != own)
                heads.push_back({others.heads[at].site, others.heads[at].head, similarities[at]});
        std::ranges::stable_sort(heads, std::ranges::greater(), &SimilarHead::similarity);
        printLike(options, heads, json, question.isJson);
    }
    if (options.cluster > 0) {
        std::vector<std::vector<std::pair<int, int>>> groups;
        for (const auto& group : headGroups(found, static_cast<float>(options.cluster))) {
            groups.emplace_back();
            for (const size_t at : group) groups.back().emplace_back(found.heads[at].site, found.heads[at].head);
        }
        printGroups(groups, json, question.isJson);
    }
}

} // namespace

int lensVision(const VisionQuestion& question, const std::string& what, int top) {
    if (what != "logit" && what != "attribution" && what != "gradients")
        throw Error({.what = fmt::format("--what {} needs text", what),
                     .where = {},
                     .hint = "with --image, choose logit, attribution or gradients; attention-cli render draws "
                             "rollout"});
    AskedPicture input(question);
    if (what == "logit")
        classes(input, top);
    else if (what == "attribution")
        contributions(input);
    else
        patchGradients(input);
    return kDone;
}

int ablateVision(const VisionQuestion& question) {
    AskedPicture input(question);
    AblationSweepAnalysis analysis;
    analysis.target = input.target();
    const auto found = input.run<AblationSweep>(analysis);
    printEffects(input.name(found->target), *found, question.isJson);
    return kDone;
}

int patchVision(const VisionQuestion& question, const std::string& from, const std::string& hook) {
    AskedPicture input(question, from);
    PatchSweepAnalysis analysis;
    analysis.hook = hook;
    analysis.target = input.target();
    const auto found = input.run<PatchSweep>(analysis);
    const ModelInfo& info = input.model->info();
    std::vector<std::string> names = info.prefix;
    for (int64_t patch = 0; patch < info.grid.area(); ++patch)
        names.push_back(fmt::format("patch {}, {}", patch / info.grid.width, patch % info.grid.width));
    printPatching(input.name(found->target), *found, names, question.isJson);
    return kDone;
}

int detectVision(const VisionQuestion& question, const SimilarityOptions& similarity) {
    AskedPicture input(question);
    const auto found = input.run<PatchHeadDetection>(PatchHeadAnalysis{});
    Json kinds = Json::array(), heads = Json::array();
    std::array<bool, kPatchHeadKinds> isFound{};
    for (const PatchHeadScores& head : found->heads) {
        const auto kind = head.kind();
        Json row{{"layer", head.site}, {"head", head.head}, {"title", head.title()}, {"kind", nullptr}};
        if (kind) {
            row["kind"] = textOf(*kind).id;
            isFound[static_cast<size_t>(*kind)] = true;
        }
        for (size_t each = 0; each < kPatchHeadKinds; ++each) {
            const char* id = textOf(static_cast<PatchHeadKind>(each)).id;
            row["scores"][id] = head.scores[each]; // NaN is written as null
            row["beyondEven"][id] = head.beyond[each];
        }
        row["offset"] = {{"down", head.down}, {"right", head.right}};
        heads.push_back(row);
        if (!question.isJson)
            fmt::print("layer {:2}, head {:2}  {:20} {}\n", head.site, head.head, head.title(),
                       kind ? fmt::format("{:3.0f} %", static_cast<double>(head.of(*kind)) * 100) : "");
    }
    for (size_t each = 0; each < kPatchHeadKinds; ++each) {
        const PatchHeadKindText& text = textOf(static_cast<PatchHeadKind>(each));
        kinds.push_back({{"id", text.id}, {"title", text.title}, {"score", text.explanation}, {"source", text.source}});
        if (!question.isJson && isFound[each]) fmt::print("{}: {}\n", text.title, text.explanation);
    }
    Json json{{"model", input.model->info().name}, {"kinds", kinds}, {"heads", heads}};
    compareHeads(*found, question, similarity, json);
    if (question.isJson) print(json);
    return kDone;
}

} // namespace attn::cli
