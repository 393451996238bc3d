#include "app/cli/analysis_options.h"

#include "engine/analysis/logit_lens.h"
#include "engine/analysis/storage_effects.h"
#include "engine/core/error.h"
#include "engine/data/text_parts.h"
#include "engine/inference/language_model.h"
#include "engine/io/input_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace attn::cli {
namespace {

struct PerplexityOptions {
    ModelOptions model;
    PromptOptions prompt;
    std::string file;
    bool json = false, each = false;
};

/// A dash without a perplexity; powers of ten where it is large. Above 709 nats a token it does not fit in a number.
std::string perplexityText(double perplexity) {
    if (std::isnan(perplexity)) return "–";
    if (std::isinf(perplexity)) return "above 1e308";
    return fmt::format(perplexity < 1e9 ? fmt::runtime("{:.3f}") : fmt::runtime("{:.3e}"), perplexity);
}

int perplexity(const PerplexityOptions& options) {
    const auto model = options.model.open(false);
    PromptOptions prompt = options.prompt;
    if (!options.file.empty()) {
        if (prompt.text || prompt.tokens)
            throw Error({.what = "the text is given twice",
                         .where = "--text",
                         .hint = "give only one of --text, --prompt and --tokens"});
        constexpr uint64_t kMostBytes = uint64_t{64} << 20; // larger texts would take hours
        prompt.text = readGivenText(options.file, kMostBytes);
        if (prompt.text->empty())
            throw Error({.what = "the file is empty", .where = options.file, .hint = "choose a file with some text"});
        requireUtf8(*prompt.text, options.file);
    }
    TokenScoresAnalysis analysis;
    const TextInput input = prompt.encodeInput(*model);
    analysis.tokens = input.tokens;
    const auto scores = std::static_pointer_cast<const TokenScores>(runAnalysis(*model, {.input = input}, analysis));
    if (!std::isfinite(scores->meanLoss()))
        throw Error({.what = "a single token cannot be scored: nothing precedes it",
                     .where = "--prompt",
                     .hint = "give a longer text"});
    const auto predicted = scores->tokens.size() - 1;
    if (options.json) {
        nlohmann::json json{{"model", model->info().name},
                            {"tokens", predicted},
                            {"loss", scores->meanLoss()},
                            {"perplexity", scores->perplexity()}};
        if (options.each)
            for (size_t token = 1; token < scores->tokens.size(); ++token) {
                nlohmann::json each = tokenJson(model->info(), scores->tokens[token]);
                each["loss"] = scores->loss[token];
                each["entropy"] = scores->entropy[token];
                each["rank"] = scores->rank[token] + 1;
                json["each"].push_back(each);
            }
        print(std::move(json), model->info());
        return kDone;
    }
    if (options.each)
        for (size_t token = 1; token < scores->tokens.size(); ++token)
            fmt::print("{:8.3f} nats  entropy {:6.3f}  rank {:5}  {}\n", static_cast<double>(scores->loss[token]),
                       static_cast<double>(scores->entropy[token]), scores->rank[token] + 1,
                       tokenText(model->info(), scores->tokens[token]));
    fmt::print("perplexity {}  (loss {:.4f} nats per token, over {} {})\n", perplexityText(scores->perplexity()),
               scores->meanLoss(), predicted, predicted == 1 ? "token" : "tokens");
    return kDone;
}

// storage: compares storages of the weights on the same text -------------------------------------------------------

struct StorageOptions {
    AnalysisOptions asked;
    bool json = false;
};

/// The head whose pattern differs most, as "L3 H1, 0.0120 bits"; empty if there are no patterns.
std::string mostChanged(const Asked& asked, const StorageEffects::Effect& effect) {
    double most = -1;
    std::string text;
    for (size_t site = 0; site < effect.divergence.size(); ++site)
        for (size_t head = 0; head < effect.divergence[site].size(); ++head)
            if (effect.divergence[site][head] > most) {
                most = effect.divergence[site][head];
                text = fmt::format("{}, {:.4f} bits", asked.headName(static_cast<int>(site), static_cast<int>(head)),
                                   most);
            }
    return text;
}

int storage(const StorageOptions& options) {
    const Asked asked(options.asked, "storage");
    const auto found = asked.run<StorageEffects>(StorageEffectsAnalysis{});
    if (options.json) {
        nlohmann::json rows = nlohmann::json::array();
        for (const StorageEffects::Effect& effect : found->effects) {
            if (!effect.problem.empty()) {
                rows.push_back({{"storage", storageName(effect.storage)}, {"problem", effect.problem}});
                continue;
            }
            nlohmann::json row{{"storage", storageName(effect.storage)},
                               {"bytes", effect.parameterBytes},
                               {asked.isText() ? "tokens_per_second" : "pictures_per_second", effect.perSecond},
                               {"largest_change", effect.largestChange},
                               {"prediction_divergence", effect.predictionDivergence},
                               {"divergence", effect.divergence}};
            if (asked.isText()) row.update({{"loss", effect.loss}, {"perplexity", effect.perplexity}});
            rows.push_back(row);
        }
        asked.print({{"storages", rows}});
        return kDone;
    }
    // A picture has no tokens whose perplexity could be measured.
    fmt::print("{:<8} {:>9} {:>10} {:>13} {:>15} {:>11}  {}\n", "storage", "MiB",
               asked.isText() ? "tokens/s" : "pictures/s", asked.isText() ? "perplexity" : "classes, bits",
               "largest change", "divergence", "most changed pattern");
    if (asked.isText() && std::isnan(found->effects.front().perplexity))
        fmt::print(stderr, "The text has no token that follows another, so it has no perplexity; {}.\n",
                   asked.info().readsSource ? "give --source, and the beginning of what the model writes with --prompt"
                                            : "give a longer text");
    for (const StorageEffects::Effect& effect : found->effects) {
        if (!effect.problem.empty()) {
            fmt::print("{:<8} not available: {}\n", storageName(effect.storage), effect.problem);
            continue;
        }
        fmt::print("{:<8} {:>9.1f} {:>10} {:>13} {:>15} {:>11.5f}  {}\n", storageName(effect.storage),
                   static_cast<double>(effect.parameterBytes) / (1 << 20),
                   effect.perSecond > 0 ? fmt::format("{:.0f}", effect.perSecond) : "–", // no rate without a cache
                   asked.isText()                            ? perplexityText(effect.perplexity)
                   : std::isnan(effect.predictionDivergence) ? "–"
                                                             : fmt::format("{:.5f}", effect.predictionDivergence),
                   asked.info().activation == ClassActivation::None
                       ? fmt::format("{:.4f}", effect.largestChange) // change of a number, not of a probability
                       : fmt::format("{:.2f} %", static_cast<double>(effect.largestChange) * 100),
                   effect.meanDivergence(), effect.storage == Storage::F32 ? "" : mostChanged(asked, effect));
    }
    return kDone;
}

} // namespace

void addPerplexity(Command& command) {
    const auto options = std::make_shared<PerplexityOptions>();
    command.about(
        "Texts longer than the context are read in windows that overlap by half. Windows after the first have no token "
        "that begins a text (BOS), which raises the perplexity of models that rely on it. Ranks count from 1: the most "
        "probable token has rank 1. Of a model that reads a source (--source), --prompt is what it writes.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->prompt.addSourceTo(command);
    command.option("--text FILE", options->file, "text file to read instead of --prompt");
    command.flag("--each", options->each, "also print loss, entropy (both in nats) and rank of every token");
    addJson(command, options->json);
    command.example("attention-cli perplexity builtin:stories --prompt 'Once upon a time there was a cat.' --each");
    command.action([=] { return perplexity(*options); });
}

void addStorage(Command& command) {
    const auto options = std::make_shared<StorageOptions>();
    command.about(
        "Opens the model with its weights kept as f32, f16, bf16, q8_0, q4_0 and q4_k, and compares the memory, the "
        "measured speed of writing, the perplexity of the text, the largest change of a probability of the next token, "
        "and how far the patterns of the heads are from those of f32 (Jensen-Shannon divergence, 0 to 1). q4_k packs "
        "weights in blocks of 256, so it keeps only matrices whose rows can be cut into such blocks; the others are "
        "kept as q8_0. A storage in which the model gives no numbers, for example because weights are too large for "
        "f16, has the reason in its line; with --json, in \"problem\". With --image FILE, for a model that reads "
        "pictures: how many pictures it reads a second, and how far the probabilities of the classes are from those of "
        "f32, in bits; a picture has no perplexity.");
    options->asked.model.without = "--storage"; // it measures every one
    options->asked.addTo(command);
    addJson(command, options->json);
    command.example("attention-cli storage builtin:stories --prompt 'Once upon a time there was a cat.'");
    command.example("attention-cli storage builtin:vit-fashion --image shoe.png");
    command.action([=] { return storage(*options); });
}

} // namespace attn::cli
