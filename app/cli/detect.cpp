#include "app/cli/analysis_options.h"

#include "engine/analysis/head_kinds.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <span>

namespace attn::cli {
namespace {

using Json = nlohmann::json;

struct DetectOptions {
    AnalysisOptions asked{.hasPrompt = false};
    bool json = false;
    std::vector<int> like; ///< layer and head that others are compared with; empty: none
    std::string in;        ///< model whose heads are searched; empty: the same model
    double cluster = 0;    ///< least similarity within a group; 0: no groups
};

Json headJson(const HeadScores& head, bool isText) {
    Json row{{"layer", head.site}, {"head", head.head}, {"title", head.title()}, {"kind", nullptr}};
    if (const auto kind = head.kind()) row["kind"] = head.kinds[*kind].id;
    for (size_t kind = 0; kind < head.kinds.size(); ++kind) {
        row["scores"][head.kinds[kind].id] = head.scores[kind]; // NaN is written as null
        if (!isText) row["beyondEven"][head.kinds[kind].id] = head.beyond[kind];
    }
    row["offset"] = {{"down", head.down}, {"right", head.right}};
    return row;
}

void printHead(const HeadScores& head, bool isText) {
    const auto kind = head.kind();
    const std::string remark = !kind    ? ""
                               : isText ? head.finding(*kind)
                                        : fmt::format("{:3.0f} %", static_cast<double>(head.of(*kind)) * 100);
    fmt::print("{:7}  {:20}  {}\n", head.label, head.title(), remark);
}

Json listKinds(const HeadDetection& found, bool isText, bool isJson) {
    std::set<size_t> present;
    for (const HeadScores& head : found.heads)
        if (const auto kind = head.kind()) present.insert(*kind);
    Json kinds = Json::array();
    for (size_t at = 0; at < found.kinds.size(); ++at) {
        const HeadKind& kind = found.kinds[at];
        const std::string score = fmt::format(fmt::runtime(kind.finding), "a share", "N");
        kinds.push_back({{"id", kind.id}, {"title", kind.title}, {"score", score}, {"source", kind.source}});
        if (!isJson && !isText && present.contains(at)) fmt::print("{}: {}\n", kind.title, score);
    }
    return kinds;
}

/// Prints the heads that are similar to the one of the options.
Json listLike(const DetectOptions& options, const HeadDetection& found) {
    const size_t own = found.indexOf(options.like[0], options.like[1]);
    std::shared_ptr<const HeadDetection> elsewhere;
    if (!options.in.empty()) {
        AnalysisOptions there = options.asked;
        there.model.path = options.in;
        elsewhere = Asked(there, "detect").run<HeadDetection>(HeadDetectionAnalysis{});
    }
    const HeadDetection& others = elsewhere ? *elsewhere : found;
    if (!options.json) fmt::print("\nheads similar to {}:\n", found.heads[own].label);
    Json like = Json::array();
    for (const SimilarHead& each : similarHeads(found, own, others)) {
        const HeadScores& head = others.heads[each.index];
        like.push_back({{"layer", head.site}, {"head", head.head}, {"similarity", each.similarity}});
        if (!options.json) fmt::print("{:6.3f}  {}\n", static_cast<double>(each.similarity), head.label);
    }
    return like;
}

Json listGroups(const DetectOptions& options, const HeadDetection& found) {
    if (!options.json) fmt::print("\ngroups of similar heads:\n");
    Json groups = Json::array();
    for (const auto& group : headGroups(found, static_cast<float>(options.cluster))) {
        Json members = Json::array();
        std::string text;
        for (const size_t at : group) {
            const HeadScores& head = found.heads[at];
            members.push_back({head.site, head.head});
            text += (text.empty() ? "" : "; ") + head.label;
        }
        groups.push_back(members);
        if (!options.json) fmt::print("  {}\n", text);
    }
    return groups;
}

int detect(const DetectOptions& options) {
    const Asked asked(options.asked, "detect");
    const auto found = asked.run<HeadDetection>(HeadDetectionAnalysis{});
    Json json{{"model", asked.info().name}};
    if (asked.isText()) json.update({{"period", found->period}, {"text", found->text}});
    for (const HeadScores& head : found->heads) {
        json["heads"].push_back(headJson(head, asked.isText()));
        if (!options.json) printHead(head, asked.isText());
    }
    json["kinds"] = listKinds(*found, asked.isText(), options.json);
    if (!options.like.empty()) json["like"] = listLike(options, *found);
    if (options.cluster > 0) json["groups"] = listGroups(options, *found);
    if (options.json) asked.print(json);
    return kDone;
}

} // namespace

void addDetect(Command& command) {
    const auto options = std::make_shared<DetectOptions>();
    command.about("Text models are measured on random tokens that repeat and on a short text; vision models on the "
                  "picture, and on the same picture with its patches shuffled.");
    command.about(
        "The similarity of two heads is 1 if their patterns are equal and 0 if they share no key: the mean over "
        "the rows of the Bhattacharyya coefficient, the sum of the roots of the products of both weights; of "
        "pictures over areas, averaged with that of the weights by offset.");
    options->asked.addTo(command);
    const Option& to =
        command.option("--like LAYER HEAD", options->like, "also list heads by how similar they are to this one")
            .atLeast(0)
            .expects(2);
    command.option("--in PATH", options->in, "model whose heads --like lists").defaultText("the same model").needs(to);
    command.option("--cluster X", options->cluster, "also group heads whose similarity is at least X")
        .range(0, 1)
        .defaultText("no groups");
    addJson(command, options->json);
    command.example("attention-cli detect builtin:induction-trained --like 1 0");
    command.example("attention-cli detect builtin:vit-shapes --image circle.png --cluster 0.8");
    command.action([=] { return detect(*options); });
}

} // namespace attn::cli
