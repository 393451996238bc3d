#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"

#include "engine/inference/language_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attn::cli {
namespace {

struct DetectOptions {
    ModelOptions model;
    ImageOptions picture;
    bool json = false;
    SimilarityOptions similarity;
};

int detect(const DetectOptions& options) {
    if (!options.picture.image.empty())
        return detectVision({options.model, options.picture, TargetOptions{}, options.json}, options.similarity);
    const auto model = openForText(options.model, "detect");
    const auto found = analyse<HeadDetection>(*model, {}, HeadDetectionAnalysis{});
    nlohmann::json json{{"model", model->info().name}, {"period", found->period}, {"text", found->text}};
    for (const HeadScores& head : found->all) {
        const std::vector<HeadKind> labels = head.labels();
        nlohmann::json row{{"layer", head.site}, {"head", head.head}, {"title", head.title()}};
        for (size_t kind = 0; kind < kHeadKinds; ++kind)
            row["scores"][std::string(nameOf(static_cast<HeadKind>(kind)))] = head.scores[kind];
        json["heads"].push_back(row);
        if (!options.json)
            fmt::print("layer {:2}, head {:2}  {:16}  {}\n", head.site, head.head, head.title(),
                       labels.empty() ? "" : head.explanation(labels.front()));
    }
    if (const auto& [like, in, cluster] = options.similarity; !like.empty()) {
        auto others = found;
        if (!in.empty()) {
            ModelOptions other = options.model;
            other.path = in;
            others = analyse<HeadDetection>(*openForText(other, "detect"), {}, HeadDetectionAnalysis{});
        }
        printLike(options.similarity, similarHeads(*found, like[0], like[1], *others), json, options.json);
    }
    if (options.similarity.cluster > 0)
        printGroups(headClusters(*found, static_cast<float>(options.similarity.cluster)), json, options.json);
    if (options.json) print(json);
    return kDone;
}

} // namespace

void SimilarityOptions::addTo(Command& command) {
    const Option& to = command.option("--like LAYER HEAD", like, "also list heads by how similar they are to this one")
                           .atLeast(0)
                           .expects(2);
    command.option("--in PATH", in, "model whose heads --like lists").defaultText("the same model").needs(to);
    command.option("--cluster X", cluster, "also group heads whose similarity is at least X")
        .range(0, 1)
        .defaultText("no groups");
}

void printLike(const SimilarityOptions& options, std::span<const SimilarHead> heads, nlohmann::json& json,
               bool isJson) {
    if (!isJson) fmt::print("\nheads similar to layer {}, head {}:\n", options.like[0], options.like[1]);
    for (const SimilarHead& head : heads) {
        json["like"].push_back({{"layer", head.site}, {"head", head.head}, {"similarity", head.similarity}});
        if (!isJson)
            fmt::print("{:6.3f}  layer {}, head {}\n", static_cast<double>(head.similarity), head.site, head.head);
    }
}

void printGroups(std::span<const std::vector<std::pair<int, int>>> groups, nlohmann::json& json, bool isJson) {
    if (!isJson) fmt::print("\ngroups of similar heads:\n");
    for (const auto& group : groups) {
        json["groups"].push_back(group);
        std::string text;
        for (const auto& [layer, head] : group)
            text += fmt::format("{}layer {}, head {}", text.empty() ? "" : "; ", layer, head);
        if (!isJson) fmt::print("  {}\n", text);
    }
}

void addDetect(Command& command) {
    const auto options = std::make_shared<DetectOptions>();
    command.about("Text models are measured on random tokens that repeat and on a short text; vision models on the "
                  "picture, and on the same picture with its patches shuffled.");
    options->model.addTo(command);
    options->picture.addTo(command, false);
    options->similarity.addTo(command);
    addJson(command, options->json);
    command.example("attention-cli detect builtin:induction-trained --like 1 0");
    command.example("attention-cli detect builtin:vit-shapes --image circle.png --cluster 0.8");
    command.action([=] { return detect(*options); });
}

} // namespace attn::cli
