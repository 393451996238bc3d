#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"

#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/weighted_attention.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace attn::cli {
namespace {

struct LensOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    TargetOptions target;
    std::string what = "logit";
    int position = -1, layer = 0, head = 0, top = 5;
    bool json = false;
};

using Json = nlohmann::json;

struct LensInput {
    const LensOptions& options;
    LanguageModel& model;
    std::vector<int> tokens;
    std::string text(int token) const { return tokenText(model, token); }
};

Json tokensJson(const LensInput& input, const std::vector<int>& tokens) {
    Json json = Json::array();
    for (int token : tokens) json.push_back(tokenJson(input.model, token));
    return json;
}

int logit(const LensInput& input) {
    LogitLensAnalysis analysis;
    analysis.choices = input.options.top;
    const auto lens = analyse<LogitLens>(input.model, input.tokens, analysis);
    if (!input.options.json)
        fmt::print("{:>4} {:16} {:10}  {:>6} {:>8}  most probable next tokens\n", "pos", "token", "stage", "rank",
                   "p(final)");
    Json rows = Json::array();
    for (int token = 0; token < lens->tokens; ++token) {
        if (input.options.position >= 0 && token != input.options.position) continue;
        for (size_t stage = 0; stage < lens->stages.size(); ++stage) {
            const size_t at = stage * static_cast<size_t>(lens->tokens) + static_cast<size_t>(token);
            std::string says;
            Json choices = Json::array();
            for (size_t choice = 0; choice < static_cast<size_t>(lens->choices); ++choice) {
                const int id = lens->ids[at * static_cast<size_t>(lens->choices) + choice];
                const float share = lens->probabilities[at * static_cast<size_t>(lens->choices) + choice];
                says += fmt::format("{} {:.0f} %  ", input.text(id), static_cast<double>(share) * 100);
                Json each = tokenJson(input.model, id);
                each["probability"] = share;
                choices.push_back(each);
            }
            if (input.options.json)
                rows.push_back({{"position", token},
                                {"stage", lens->stages[stage]},
                                {"entropy", lens->entropy[at]},
                                {"rankOfFinal", lens->finalRank[at] + 1},
                                {"probabilityOfFinal", lens->finalProbability[at]},
                                {"choices", choices}});
            else
                fmt::print("{:4} {:16} {:10}  {:6} {:8.4f}  {}\n", token,
                           input.text(input.tokens[static_cast<size_t>(token)]), lens->stages[stage],
                           lens->finalRank[at] + 1, static_cast<double>(lens->finalProbability[at]), says);
        }
    }
    if (input.options.json) print({{"tokens", tokensJson(input, input.tokens)}, {"rows", rows}});
    return kDone;
}

int attribution(const LensInput& input) {
    LogitAttributionAnalysis analysis;
    analysis.position = input.options.position;
    analysis.target = input.options.target.read(input.model);
    const auto found = analyse<LogitAttribution>(input.model, input.tokens, analysis);
    printContributions(targetName(input.model, found->target), found->logit, found->components,
                       {{"position", found->position}}, fmt::format(" after token {}", found->position),
                       input.options.json);
    return kDone;
}

/// Prints one or two numbers for each token of the input.
int byToken(const LensInput& input, const char* first, const std::vector<float>& a, const char* second,
            const std::vector<float>& b, Json json) {
    if (!input.options.json) fmt::print("{:>20} {:>20}\n", first, b.empty() ? "" : second);
    Json rows = Json::array();
    for (size_t token = 0; token < a.size(); ++token) {
        Json row = tokenJson(input.model, input.tokens[token]);
        row[first] = a[token];
        if (!b.empty()) row[second] = b[token];
        rows.push_back(row);
        if (input.options.json) continue;
        fmt::print("{:20.4f} {:>20}  {}\n", static_cast<double>(a[token]),
                   b.empty() ? "" : fmt::format("{:.4f}", static_cast<double>(b[token])),
                   input.text(input.tokens[token]));
    }
    json["tokens"] = rows;
    if (input.options.json) print(json);
    return kDone;
}

int gradients(const LensInput& input) {
    InputAttributionAnalysis analysis;
    analysis.position = input.options.position;
    analysis.target = input.options.target.read(input.model);
    const auto found = analyse<InputAttribution>(input.model, input.tokens, analysis);
    if (!input.options.json)
        fmt::print("{} after token {}: {:+.4f}; with the mean embedding as input: {:+.4f}\n",
                   targetText(input.model, found->target), found->position, static_cast<double>(found->logit),
                   static_cast<double>(found->baselineLogit));
    return byToken(input, "gradient x input", found->gradientTimesInput, "integrated", found->integratedGradients,
                   {{"position", found->position},
                    {"target", targetJson(input.model, found->target)},
                    {"logit", found->logit},
                    {"baselineLogit", found->baselineLogit},
                    {"steps", found->steps}});
}

int flow(const LensInput& input) {
    RolloutAnalysis analysis;
    analysis.row = input.options.position;
    analysis.wantsFlow = true;
    const auto found = analyse<Rollout>(input.model, input.tokens, analysis);
    return byToken(input, "rollout", found->ofRow, "flow", found->flow, {{"query", found->row}});
}

int weighted(const LensInput& input) {
    WeightedAttentionAnalysis analysis;
    analysis.site = input.options.layer;
    analysis.head = input.options.head;
    const auto found = analyse<WeightedAttention>(input.model, input.tokens, analysis);
    const int query =
        input.options.position < 0 ? found->tokens - 1 : std::min(input.options.position, found->tokens - 1);
    const auto row = [&](const std::vector<float>& map) {
        const auto begin = map.begin() + static_cast<std::ptrdiff_t>(query) * found->tokens;
        return std::vector<float>(begin, begin + found->tokens);
    };
    return byToken(
        input, "weight", row(found->pattern), "weight x norm", row(found->normWeighted),
        {{"layer", found->site}, {"head", found->head}, {"query", query}, {"outputNorms", found->outputNorms}});
}

int circuits(const LensInput& input) {
    HeadCircuitsAnalysis analysis;
    analysis.site = input.options.layer;
    analysis.head = input.options.head;
    analysis.choices = input.options.top;
    const auto found = analyse<HeadCircuits>(input.model, input.tokens, analysis);
    Json rows = Json::array();
    if (!input.options.json)
        fmt::print("layer {}, head {}: copying score {:+.3f}\n", found->site, found->head,
                   static_cast<double>(found->copyingScore));
    for (size_t token = 0; token < found->tokens.size(); ++token) {
        Json row = tokenJson(input.model, found->tokens[token]);
        const auto list = [&](const HeadCircuits::Pairs& pairs, const char* name) {
            std::string text;
            for (size_t choice = 0; choice < static_cast<size_t>(found->choices); ++choice) {
                const size_t at = token * static_cast<size_t>(found->choices) + choice;
                text += fmt::format(" {} {:+.2f}", input.text(pairs.ids[at]), static_cast<double>(pairs.values[at]));
                Json each = tokenJson(input.model, pairs.ids[at]);
                each["value"] = pairs.values[at];
                row[name].push_back(each);
            }
            return text;
        };
        const std::string reads = list(found->reads, "looksFor"), writes = list(found->writes, "raises");
        rows.push_back(row);
        if (!input.options.json)
            fmt::print("{}\n  as query, looks for{}\n  as key, raises     {}\n", input.text(found->tokens[token]),
                       reads, writes);
    }
    if (input.options.json)
        print({{"layer", found->site}, {"head", found->head}, {"copyingScore", found->copyingScore}, {"tokens", rows}});
    return kDone;
}

int composition(const LensInput& input) {
    const auto found = analyse<CompositionScores>(input.model, input.tokens, CompositionScoresAnalysis{});
    struct Pair {
        int kind, layer, head, earlierLayer, earlierHead;
        float value;
    };
    std::vector<Pair> pairs;
    for (int kind = 0; kind < 3; ++kind)
        for (int layer = 1; layer < found->sites; ++layer)
            for (int head = 0; head < found->heads; ++head)
                for (int before = 0; before < layer; ++before)
                    for (int other = 0; other < found->heads; ++other)
                        pairs.push_back(
                            {kind, layer, head, before, other,
                             found->at(static_cast<CompositionScores::Kind>(kind), layer, head, before, other)});
    std::ranges::stable_sort(pairs, std::greater(), &Pair::value);
    constexpr std::array<const char*, 3> kNames{"Q", "K", "V"};
    Json rows = Json::array();
    const size_t shown =
        input.options.json ? pairs.size() : std::min(pairs.size(), static_cast<size_t>(input.options.top) * 4);
    for (const Pair& pair : std::span(pairs).first(shown)) {
        if (input.options.json)
            rows.push_back({{"kind", kNames[static_cast<size_t>(pair.kind)]},
                            {"layer", pair.layer},
                            {"head", pair.head},
                            {"earlierLayer", pair.earlierLayer},
                            {"earlierHead", pair.earlierHead},
                            {"score", pair.value}});
        else
            fmt::print("{:.3f}  {}  layer {}, head {} reads layer {}, head {}\n", static_cast<double>(pair.value),
                       kNames[static_cast<size_t>(pair.kind)], pair.layer, pair.head, pair.earlierLayer,
                       pair.earlierHead);
    }
    if (input.options.json) print({{"pairs", rows}});
    return kDone;
}

constexpr std::array<std::pair<const char*, int (*)(const LensInput&)>, 7> kLenses{{{"logit", logit},
                                                                                    {"attribution", attribution},
                                                                                    {"gradients", gradients},
                                                                                    {"flow", flow},
                                                                                    {"weighted", weighted},
                                                                                    {"circuits", circuits},
                                                                                    {"composition", composition}}};

} // namespace

void addLens(Command& command) {
    const auto options = std::make_shared<LensOptions>();
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->picture.addTo(command, false);
    options->target.addTo(command);
    std::vector<std::string> names;
    for (const auto& [name, function] : kLenses) names.emplace_back(name);
    command.option("--what LENS", options->what, "lens to use, see below").choices(std::move(names));
    command.option("--position N", options->position, "token to explain, counted from 0")
        .atLeast(0)
        .defaultText("the last token; all tokens for logit");
    command.option("--layer N", options->layer, "layer, counted from 0, for weighted and circuits").atLeast(0);
    command.option("--head N", options->head, "head, counted from 0, for weighted and circuits").atLeast(0);
    command.option("--top N", options->top, "number of tokens or classes in each row").range(1, 100);
    addJson(command, options->json);
    command.list("Lenses (logit, attribution and gradients also for pictures)",
                 {{"logit", "what each layer would predict as the next token, or as the class; ranks count from 1"},
                  {"attribution", "what each head and MLP adds to a logit"},
                  {"gradients", "how much each token or patch matters: gradient x input and integrated gradients"},
                  {"flow", "how attention mixes tokens through all layers: rollout and attention flow"},
                  {"weighted", "attention weights of a head times the length of the vectors that they carry"},
                  {"circuits", "which tokens a head looks for, and which it makes more probable, by its parameters"},
                  {"composition", "which heads read from which earlier heads"}});
    command.example("attention-cli lens builtin:stories --prompt 'The cat sat on the'");
    command.example("attention-cli lens builtin:stories --what attribution --prompt 'Lily and Tom went to the' "
                    "--target park");
    command.example("attention-cli lens builtin:vit-shapes --image circle.png --what gradients");
    command.action([=] {
        if (!options->picture.image.empty())
            return lensVision({options->model, options->picture, options->target, options->json}, options->what,
                              options->top);
        const auto model = openForText(options->model, "lens");
        const LensInput input{*options, *model, options->prompt.encode(*model)};
        const auto lens = std::ranges::find_if(kLenses, [&](const auto& each) { return options->what == each.first; });
        return lens->second(input);
    });
}

} // namespace attn::cli
