#include "app/cli/analysis_options.h"

#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/formed_path.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/weighted_attention.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/models/head_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

namespace attn::cli {
namespace {

struct LensOptions {
    AnalysisOptions asked;
    std::string what = "logit";
    int position = -1, top = 5;
    std::optional<int> layer, head;
    bool json = false;
};

using Json = nlohmann::json;

struct LensInput {
    const LensOptions& options;
    const Asked& asked;

    /// The row of the first token of a text, after those of its source.
    size_t firstOfText() const { return asked.isText() ? asked.input().source().size() : 0; }
};

/// The most probable choices of a row, as JSON. @param text receives them in words
Json choicesOf(const LensInput& input, const LogitLens& lens, const LogitLens::Stage& stage, int row,
               std::string& text) {
    Json choices = Json::array();
    for (int choice = 0; choice < lens.choices; ++choice) {
        const auto at = static_cast<size_t>(row * lens.choices + choice);
        const int id = stage.ids[at];
        const double percent = static_cast<double>(stage.probabilities[at]) * 100;
        text += lens.isOfTokens ? fmt::format("{} {:.0f} %  ", input.asked.choice(id), percent)
                                : fmt::format("  {} {:.1f} %", printable(input.asked.info().labelOf(id)), percent);
        Json each = input.asked.choiceJson(id);
        each["probability"] = stage.probabilities[at];
        choices.push_back(each);
    }
    return choices;
}

/// Prints the predictions after each layer for one token. A picture has one prediction and no token.
void printStages(const LensInput& input, const LogitLens& lens, int token, Json& rows) {
    for (const LogitLens::Stage& stage : lens.stages) {
        std::string says;
        const auto at = static_cast<size_t>(token);
        Json row{{"stage", stage.name()},
                 {"entropy", stage.entropy[at]},
                 {"rankOfFinal", stage.finalRank[at] + 1},
                 {"probabilityOfFinal", stage.finalProbability[at]},
                 {"choices", choicesOf(input, lens, stage, token, says)}};
        if (lens.isOfTokens) row["position"] = token;
        rows.push_back(row);
        if (input.options.json) continue;
        if (lens.isOfTokens)
            fmt::print("{:4} {:16} {:17}  {:6} {:8.4f}  {}\n", token, input.asked.rowName(input.firstOfText() + at),
                       stage.name(), stage.finalRank[at] + 1, static_cast<double>(stage.finalProbability[at]), says);
        else
            fmt::print("{:10}{}\n", stage.name(), says);
    }
}

void logit(const LensInput& input) {
    LogitLensAnalysis analysis;
    analysis.choices = input.options.top;
    const auto lens = input.asked.run<LogitLens>(analysis);
    if (!input.options.json && lens->isOfTokens)
        fmt::print("{:>4} {:16} {:17}  {:>6} {:>8}  most probable next tokens\n", "pos", "token", "stage", "rank",
                   "p(final)");
    Json json{{"rows", Json::array()}};
    const int tokens = lens->isOfTokens ? lens->stages.front().rows : 1;
    for (int token = 0; token < tokens; ++token)
        if (!lens->isOfTokens || input.options.position < 0 || token == input.options.position)
            printStages(input, *lens, token, json["rows"]);
    if (!input.options.json) return;
    if (lens->isOfTokens)
        for (size_t row = 0; row < static_cast<size_t>(tokens); ++row)
            json["tokens"].push_back(input.asked.rowJson(input.firstOfText() + row));
    input.asked.print(json);
}

void attribution(const LensInput& input) {
    LogitAttributionAnalysis analysis;
    analysis.position = input.options.position;
    analysis.target = input.asked.target();
    const auto found = input.asked.run<LogitAttribution>(analysis);
    const std::string where = input.asked.hasClasses() ? "" : fmt::format(" after token {}", found->position);
    Json json{
        {"components", Json::array()}, {"target", input.asked.targetJson(found->target)}, {"logit", found->logit}};
    if (!input.asked.hasClasses()) json["position"] = found->position;
    double sum = 0;
    for (const auto& component : found->components) {
        sum += static_cast<double>(component.value);
        json["components"].push_back({{"name", component.name}, {"value", component.value}});
        if (!input.options.json) fmt::print("{:+10.4f}  {}\n", static_cast<double>(component.value), component.name);
    }
    json["sum"] = sum;
    if (input.options.json)
        input.asked.print(json);
    else
        fmt::print("{:+10.4f}  sum; {}{} is {:+.4f}\n", sum, input.asked.targetText(found->target), where,
                   static_cast<double>(found->logit));
}

/// A number for each row of the input.
struct Column {
    const char* name;
    std::vector<float> values; ///< empty: not computed
};

/// Prints one or two numbers for each row. @param first input row with numbers
void byRow(const LensInput& input, const Column& a, const Column& b, Json json, size_t first = 0) {
    if (!input.options.json) fmt::print("{:>20} {:>20}\n", a.name, b.values.empty() ? "" : b.name);
    Json rows = Json::array();
    for (size_t at = 0; at < a.values.size(); ++at) {
        Json row = input.asked.rowJson(first + at);
        row[a.name] = a.values[at];
        if (!b.values.empty()) row[b.name] = b.values[at];
        rows.push_back(row);
        if (!input.options.json)
            fmt::print("{:20.4f} {:>20}  {}\n", static_cast<double>(a.values[at]),
                       b.values.empty() ? "" : fmt::format("{:.4f}", static_cast<double>(b.values[at])),
                       input.asked.rowName(first + at));
    }
    json[input.asked.isText() ? "tokens" : "patches"] = rows;
    if (input.options.json) input.asked.print(json);
}

void gradients(const LensInput& input) {
    InputAttributionAnalysis analysis;
    analysis.position = input.options.position;
    analysis.target = input.asked.target();
    const auto found = input.asked.run<InputAttribution>(analysis);
    const std::string target = input.asked.targetText(found->target);
    const double logit = static_cast<double>(found->logit), baseline = static_cast<double>(found->baselineLogit);
    const bool isText = input.asked.isText();
    if (!input.options.json && isText)
        fmt::print("{}{}: {:+.4f}; with the mean embedding as input: {:+.4f}\n", target,
                   input.asked.hasClasses() ? "" : fmt::format(" after token {}", found->position), logit, baseline);
    else if (!input.options.json)
        fmt::print("{}: {:+.4f}; for a picture of zeros (the mean colour, or black where pictures are not normalised): "
                   "{:+.4f}\n",
                   target, logit, baseline);
    Json json{{"target", input.asked.targetJson(found->target)},
              {"logit", found->logit},
              {"baselineLogit", found->baselineLogit},
              {"steps", found->steps}};
    if (!input.asked.hasClasses()) json["position"] = found->position;
    byRow(input, {"gradient x input", found->gradientTimesInput}, {"integrated", found->integratedGradients},
          std::move(json), isText ? 0 : input.asked.firstPatch());
}

void flow(const LensInput& input) {
    RolloutAnalysis analysis;
    analysis.row = input.options.position;
    analysis.wantsFlow = true;
    const auto found = input.asked.run<Rollout>(analysis);
    byRow(input, {"rollout", found->ofRow}, {"flow", found->flow}, {{"query", found->row}});
}

void weighted(const LensInput& input) {
    WeightedAttentionAnalysis analysis;
    analysis.site = input.options.layer.value_or(0);
    analysis.head = input.options.head.value_or(0);
    const auto found = input.asked.run<WeightedAttention>(analysis);
    const ModelStructure& structure = input.asked.info().structure;
    const bool isRead = input.asked.info().site(found->site).queryStream == structure.sites.back().queryStream;
    const int last = !input.asked.isText() ? 0
                     : isRead              ? static_cast<int>(input.asked.model().predictedRow(input.asked.input()))
                                           : found->queries - 1;
    if (input.options.position >= found->queries)
        throw Error(
            {.what = fmt::format("there is no row {}: this attention has {}", input.options.position, found->queries),
             .where = "--position",
             .hint = fmt::format("give a number from 0 to {}", found->queries - 1)});
    const int query = input.options.position < 0 ? last : input.options.position;
    const auto row = [&](const std::vector<float>& map) {
        const auto begin = map.begin() + static_cast<std::ptrdiff_t>(query) * found->keys;
        return std::vector<float>(begin, begin + found->keys);
    };
    byRow(input, {"weight", row(found->pattern)}, {"weight x norm", row(found->normWeighted)},
          {{"layer", found->site}, {"head", found->head}, {"query", query}, {"outputNorms", found->outputNorms}},
          input.asked.isText() ? input.asked.firstRow(input.asked.info().site(found->site).keyStream) : 0);
}

void circuits(const LensInput& input) {
    HeadCircuitsAnalysis analysis;
    analysis.site = input.options.layer.value_or(0);
    analysis.head = input.options.head.value_or(0);
    analysis.choices = input.options.top;
    const auto found = input.asked.run<HeadCircuits>(analysis);
    const bool isText = found->isOfTokens;
    const auto rowName = [&](int id) {
        return isText ? tokenText(input.asked.info(), id) : input.asked.rowName(static_cast<size_t>(id));
    };
    const auto rowJson = [&](int id) {
        return isText ? tokenJson(input.asked.info(), id) : input.asked.rowJson(static_cast<size_t>(id));
    };
    Json rows = Json::array();
    if (!input.options.json)
        fmt::print("{}{}\n", headName(found->site, found->head),
                   found->copyingScore
                       ? fmt::format(": copying score {:+.3f}", static_cast<double>(*found->copyingScore))
                       : "");
    for (size_t token = 0; token < found->tokens.size(); ++token) {
        Json row = rowJson(found->tokens[token]);
        const auto list = [&](const HeadCircuits::Pairs& pairs, const char* name, const auto& nameOf,
                              const auto& jsonOf) {
            std::string text;
            for (size_t at = token * pairs.choices; at < (token + 1) * pairs.choices; ++at) {
                text += fmt::format(" {} {:+.3g}", nameOf(pairs.ids[at]), static_cast<double>(pairs.values[at]));
                Json each = jsonOf(pairs.ids[at]);
                each["value"] = pairs.values[at];
                row[name].push_back(each);
            }
            return text;
        };
        const std::string reads = list(found->reads, "looksFor", rowName, rowJson),
                          writes = list(
                              found->writes, "raises", [&](int id) { return input.asked.choice(id); },
                              [&](int id) { return input.asked.choiceJson(id); });
        rows.push_back(row);
        if (!input.options.json)
            fmt::print("{}\n  as query, looks for{}\n{}", rowName(found->tokens[token]), reads,
                       found->writes.choices > 0 ? fmt::format("  as key, raises     {}\n", writes) : "");
    }
    Json json{{"layer", found->site}, {"head", found->head}, {isText ? "tokens" : "rows", rows}};
    if (found->copyingScore) json["copyingScore"] = *found->copyingScore;
    if (input.options.json) input.asked.print(json);
}

void composition(const LensInput& input) {
    const auto found = input.asked.run<CompositionScores>(CompositionScoresAnalysis{});
    struct Pair {
        int kind, layer, head, earlierLayer, earlierHead;
        float value;
    };
    std::vector<Pair> pairs;
    for (int kind = 0; kind < 3; ++kind)
        for (int layer = 1; layer < found->sites; ++layer)
            for (int head = 0; head < input.asked.info().site(layer).heads; ++head)
                for (int before = 0; before < layer; ++before)
                    for (int other = 0; other < input.asked.info().site(before).heads; ++other)
                        pairs.push_back(
                            {kind, layer, head, before, other,
                             found->at(static_cast<CompositionScores::Kind>(kind), layer, head, before, other)});
    std::ranges::stable_sort(pairs, std::greater(), // undefined scores are last
                             [](const Pair& pair) { return std::isnan(pair.value) ? -1.0f : pair.value; });
    constexpr std::array<const char*, 3> kNames{"Q", "K", "V"};
    Json rows = Json::array();
    const size_t shown =
        input.options.json ? pairs.size() : std::min(pairs.size(), static_cast<size_t>(input.options.top) * 4);
    for (const Pair& pair : std::span(pairs).first(shown)) {
        const auto kind = static_cast<CompositionScores::Kind>(pair.kind);
        const std::string undefined = std::isnan(pair.value) ? found->whyUndefined(kind, pair.layer, pair.head,
                                                                                   pair.earlierLayer, pair.earlierHead)
                                                             : std::string();
        if (input.options.json) {
            rows.push_back({{"kind", kNames[static_cast<size_t>(pair.kind)]},
                            {"layer", pair.layer},
                            {"head", pair.head},
                            {"earlierLayer", pair.earlierLayer},
                            {"earlierHead", pair.earlierHead},
                            {"score", undefined.empty() ? Json(pair.value) : Json()}});
            if (!undefined.empty()) rows.back()["undefined"] = undefined;
        } else {
            fmt::print("{:5}  {}  {} reads {}{}\n",
                       undefined.empty() ? fmt::format("{:.3f}", static_cast<double>(pair.value)) : "–",
                       kNames[static_cast<size_t>(pair.kind)], headName(pair.layer, pair.head),
                       headName(pair.earlierLayer, pair.earlierHead),
                       undefined.empty() ? "" : "  (undefined: " + undefined + ")");
        }
    }
    if (input.options.json) input.asked.print({{"pairs", rows}});
}

void formed(const LensInput& input) {
    FormedPathAnalysis analysis;
    analysis.choices = input.options.top;
    const auto found = input.asked.run<FormedPath>(analysis);
    Json rows = Json::array();
    if (!input.options.json) fmt::print("{:>12} {:>12} {:>10}\n", "this run", "formed path", "difference");
    for (size_t at = 0; at < found->ids.size(); ++at) {
        const auto own = static_cast<double>(found->ownLogits[at]),
                   other = static_cast<double>(found->formedLogits[at]);
        Json row = input.asked.choiceJson(found->ids[at]);
        row["logit"] = own;
        row["formedLogit"] = other;
        rows.push_back(row);
        if (!input.options.json)
            fmt::print("{:12.5f} {:12.5f} {:10.2g}  {}\n", own, other, own - other, input.asked.choice(found->ids[at]));
    }
    if (input.options.json)
        input.asked.print({{"choices", rows},
                           {"largestDifference", found->largestDifference},
                           {"largestLogit", found->largestLogit},
                           {"sameChoice", found->best == found->bestFormed}});
    else
        fmt::print("all logits, up to {:.4g}, differ by at most {:.2g}\n", static_cast<double>(found->largestLogit),
                   static_cast<double>(found->largestDifference));
}

struct Lens {
    std::string_view name;
    void (*print)(const LensInput& input);
    std::string_view reads;      ///< options that not every lens reads
    bool explainsAnswer = false; ///< --position is the token whose prediction it explains, which a class has not
};
constexpr std::array<Lens, 8> kLenses{{{"logit", logit, "--position --top", true},
                                       {"attribution", attribution, "--position --target --against", true},
                                       {"gradients", gradients, "--position --target --against", true},
                                       {"flow", flow, "--position"},
                                       {"weighted", weighted, "--position --layer --head"},
                                       {"circuits", circuits, "--layer --head --top"},
                                       {"composition", composition, "--top"},
                                       {"formed", formed, "--top"}}};

/// Refuses options that the lens does not read. @throws Error naming the lenses that do
void requireRead(const Command& command, const Lens& lens, const LensOptions& options) {
    const auto reads = [](const Lens& each, std::string_view option) {
        return each.reads.find(option) != std::string_view::npos;
    };
    for (const std::string_view option : {"--position", "--layer", "--head", "--target", "--against", "--top"}) {
        if (reads(lens, option)) continue;
        std::vector<std::string_view> others;
        for (const Lens& each : kLenses)
            if (reads(each, option)) others.push_back(each.name);
        refuseIdle(command, {option}, fmt::format("--what {}", lens.name),
                   fmt::format("--what {}", fmt::join(others, ", ")));
    }
    if (lens.print == composition)
        refuseIdle(command,
                   {"--prompt", "--tokens", "--second", "--token-types", "--tree", "--source", "--source-tokens"},
                   "--what composition, which reads the weights alone", "other lenses");
    if (options.json && lens.print == composition)
        refuseIdle(command, {"--top"}, "--json, which lists all pairs", "--what composition without --json");
}

} // namespace

void addLens(Command& command) {
    const auto options = std::make_shared<LensOptions>();
    options->asked.addTo(command);
    options->asked.addTargetTo(command);
    std::vector<std::string> names;
    for (const Lens& lens : kLenses) names.emplace_back(lens.name);
    command.option("--what LENS", options->what, "lens to use, see below").choices(std::move(names));
    command.option("--position N", options->position, "token to explain, counted from 0")
        .atLeast(0)
        .defaultText(
            "the token that the answer is read from: the last [MASK], the [CLS] of a classifier, or else the last; all "
            "tokens for logit");
    command
        .wholeNumberOption(
            "--layer N", [=](int64_t layer) { options->layer = static_cast<int>(layer); },
            "layer, counted from 0, for weighted and circuits; with an encoder and a decoder, the attention in the "
            "order in which they run")
        .range(0, 1e9)
        .defaultText("0");
    command
        .wholeNumberOption(
            "--head N", [=](int64_t head) { options->head = static_cast<int>(head); },
            "head, counted from 0, for weighted and circuits")
        .range(0, 1e9)
        .defaultText("0");
    command.option("--top N", options->top, "number of tokens or classes in each row").range(1, 100);
    addJson(command, options->json);
    command.list(
        "Lenses",
        {{"logit", "what each layer would predict as the next token, or as the class; ranks count from 1"},
         {"attribution", "what each head and MLP adds to a logit"},
         {"gradients", "how much each token or patch matters: gradient x input and integrated gradients"},
         {"flow", "how attention mixes tokens or patches through all layers: rollout and attention flow"},
         {"weighted", "attention weights of a head times the length of the vectors that they carry"},
         {"circuits",
          "which tokens or patches a head looks for, and which tokens or classes it makes more probable, by "
          "its parameters; the copying score is the sum of the eigenvalues of the head's OV circuit over the sum of "
          "their sizes: 1 copies tokens, -1 makes them less probable"},
         {"composition",
          "which heads read from which earlier heads: the norm of the product of both matrices over the product of "
          "their norms (Elhage et al. 2021), for queries, keys and values"},
         {"formed", "the logits of this run beside those with whole patterns, without fused kernels and caches"}});
    command.example("attention-cli lens builtin:stories --prompt 'The cat sat on the'");
    command.example("attention-cli lens builtin:stories --what attribution --prompt 'Lily and Tom went to the' "
                    "--target park");
    command.example("attention-cli lens builtin:vit-shapes --image circle.png --what gradients");
    command.action([=, &command] {
        const Lens& lens = *std::ranges::find(kLenses, options->what, &Lens::name);
        requireRead(command, lens, *options);
        if (lens.print == composition) options->asked.hasPrompt = false;
        const Asked asked(options->asked, "lens");
        if (lens.explainsAnswer) asked.refusePosition(command);
        if (const size_t count = asked.isText() ? asked.input().tokens().size() : 0;
            asked.isText() && options->position >= static_cast<int64_t>(count))
            throw Error({.what = fmt::format("there is no token {}: the text has {}", options->position, count),
                         .where = "--position",
                         .hint = fmt::format("give a number from 0 to {}", count - 1)});
        lens.print({*options, asked});
        return kDone;
    });
}

} // namespace attn::cli
