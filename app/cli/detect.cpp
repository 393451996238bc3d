#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"

#include <fmt/format.h>

namespace attn::cli {
namespace {

struct Options {
    ModelOptions model;
    ImageOptions picture;
    bool json = false;
    LikenessOptions likeness;
};

int detect(const Options& options) {
    if (!options.picture.image.empty())
        return detectVision({options.model, options.picture, TargetOptions{}, options.json}, options.likeness);
    const auto model = openForText(options.model, "detect");
    const auto found = analyse<HeadDetection>(*model, {}, HeadDetectionAnalysis{});
    nlohmann::json json{{"model", model->info().name}, {"period", found->period}, {"text", found->text}};
    for (const HeadScores& head : found->all) {
        const std::vector<HeadKind> labels = head.labels();
        nlohmann::json row{{"layer", head.layer}, {"head", head.head}, {"title", head.title()}};
        for (size_t kind = 0; kind < kHeadKinds; ++kind)
            row["scores"][std::string(nameOf(static_cast<HeadKind>(kind)))] = head.scores[kind];
        json["heads"].push_back(row);
        if (!options.json)
            fmt::print("layer {:2}, head {:2}  {:16}  {}\n", head.layer, head.head, head.title(),
                       labels.empty() ? "" : head.explanation(labels.front()));
    }
    if (const auto& [like, in, cluster] = options.likeness; !like.empty()) {
        auto others = found;
        if (!in.empty()) {
            ModelOptions other = options.model;
            other.path = in;
            others = analyse<HeadDetection>(*openForText(other, "detect"), {}, HeadDetectionAnalysis{});
        }
        printLike(options.likeness, headsLike(*found, like[0], like[1], *others), json, options.json);
    }
    if (options.likeness.cluster > 0)
        printGroups(headClusters(*found, static_cast<float>(options.likeness.cluster)), json, options.json);
    if (options.json) print(json);
    return kDone;
}

} // namespace

void LikenessOptions::addTo(CLI::App& app) {
    CLI::Option* to =
        app.add_option("--like", like, "LAYER HEAD: list the others by how alike their patterns are")->expected(2);
    app.add_option("--in", in, "another model, whose heads --like lists")->needs(to);
    app.add_option("--cluster", cluster, "group heads that are at least so alike, from 0 to 1")
        ->check(CLI::Range(0.0, 1.0));
}

void printLike(const LikenessOptions& options, std::span<const SimilarHead> heads, nlohmann::json& json, bool isJson) {
    if (!isJson) fmt::print("\nlike layer {}, head {}:\n", options.like[0], options.like[1]);
    for (const SimilarHead& head : heads) {
        json["like"].push_back({{"layer", head.layer}, {"head", head.head}, {"similarity", head.similarity}});
        if (!isJson)
            fmt::print("{:6.3f}  layer {}, head {}\n", static_cast<double>(head.similarity), head.layer, head.head);
    }
}

void printGroups(std::span<const std::vector<std::pair<int, int>>> groups, nlohmann::json& json, bool isJson) {
    if (!isJson) fmt::print("\ngroups of heads whose patterns are alike:\n");
    for (const auto& group : groups) {
        json["groups"].push_back(group);
        std::string text;
        for (const auto& [layer, head] : group) text += fmt::format(" {}.{}", layer, head);
        if (!isJson) fmt::print("{}\n", text);
    }
}

void addDetect(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand(
        "detect",
        "name what each head does: induction, previous token, sink ...; of a vision model neighbours, one offset ...");
    const auto options = std::make_shared<Options>();
    options->model.addTo(*command);
    options->picture.addTo(*command, false);
    options->likeness.addTo(*command);
    command->add_flag("--json", options->json, "machine-readable");
    command->footer("Scores are measured on random tokens that repeat and on a short text; of a vision model on the "
                    "picture, and\non it with its patches shuffled.\n"
                    "Examples:\n  attention-cli detect builtin:induction-trained --like 1 0\n"
                    "  attention-cli detect models/deit-tiny --image cat.jpg --cluster 0.8");
    command->callback([=, &run] { run = [=] { return detect(*options); }; });
}

} // namespace attn::cli
