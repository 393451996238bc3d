#include "app/arguments/run_program.h"
#include "app/cli/command.h"

#include "app/figures/export_figure.h"
#include "app/figures/read_image.h"
#include "engine/analysis/formed_path.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/beam_search.h"
#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "engine/inference/text_end.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <unistd.h>

namespace attn::cli {
namespace {

constexpr int kTokens = 200; ///< the default; a picture determines its own number

struct GenerateOptions {
    ModelOptions model;
    PromptOptions prompt;
    bool greedy = false;
    std::optional<double> temperature, topP, minP, repetitionPenalty, lengthPenalty;
    std::optional<int> topK, beams;
    uint64_t seed = 0;
    std::optional<int> maxTokens;
    bool json = false, formed = false;
    std::string picture; ///< PNG file; empty: none
};

/// How tokens are chosen: by the command line, and otherwise by the model's folder.
struct HowToWrite {
    Sampling sampling{.greedy = false};
    BeamSettings beam{.width = 0}; ///< width 0: no beam search
};
/// @throws Error if options have no effect on texts that are written so
HowToWrite howToWrite(const Command& command, const GenerateOptions& options, const GenerationRules& rules) {
    HowToWrite how;
    const bool draws = options.temperature || options.topK || options.topP || options.minP;
    const bool isChosen = options.greedy || draws || options.beams;
    if (rules.choice) {
        how.sampling = samplingOf(*rules.choice);
        if (!isChosen && rules.choice->beams > 1) how.beam.width = rules.choice->beams;
        how.beam.lengthPenalty = rules.choice->lengthPenalty;
        how.beam.stopsEarly = rules.choice->stopsEarly;
        if (draws) { // the folder's limits apply only if it samples
            if (how.sampling.greedy) how.sampling = {.repetitionPenalty = how.sampling.repetitionPenalty};
            how.sampling.greedy = false;
        }
        if (options.beams == 0) how.sampling.greedy = false;
        if (!isChosen)
            fmt::print(stderr,
                       "attention-cli: {} chooses how to write: {}. Options such as --greedy or --temperature "
                       "replace it.\n",
                       rules.file, rules.choice->text());
    }
    if (options.greedy) how.sampling.greedy = true;
    const auto put = [](const auto& given, auto& value) {
        if (given) value = static_cast<std::remove_reference_t<decltype(value)>>(*given);
    };
    put(options.temperature, how.sampling.temperature);
    put(options.topK, how.sampling.topK);
    put(options.topP, how.sampling.topP);
    put(options.minP, how.sampling.minP);
    put(options.repetitionPenalty, how.sampling.repetitionPenalty);
    put(options.beams, how.beam.width);
    put(options.lengthPenalty, how.beam.lengthPenalty);
    how.sampling.seed = options.seed;
    how.beam.repetitionPenalty = how.sampling.repetitionPenalty;
    const std::string by = isChosen ? std::string() : ", which " + rules.file + " chooses";
    if (how.beam.width > 0)
        refuseIdle(command, {"--greedy", "--temperature", "--top-k", "--top-p", "--min-p", "--seed", "--formed"},
                   "a beam search" + by, "texts without one (--beams 0)");
    else
        refuseIdle(command, {"--length-penalty"}, "a text without a beam search", "a beam search, such as --beams 4");
    if (how.sampling.greedy)
        refuseIdle(command, {"--temperature", "--top-k", "--top-p", "--min-p", "--seed"},
                   "the most probable token" + by, "tokens that are drawn, for example with --temperature 1");
    return how;
}

/// The logits of written tokens compared with those of the formed path.
struct FormedCheck {
    FormedDistance distance;
    int tokens = 0, sameChoice = 0; ///< tokens compared, and those for which both rate the same token highest
};
/// @param written logits before each written token; the first is the token after `promptLength` tokens
FormedCheck compareWithFormed(LanguageModel& model, const std::vector<std::vector<float>>& written,
                              size_t promptLength) {
    FormedCheck check;
    const std::vector<float> formed = model.formedLogits(model.input());
    for (size_t i = 0; i < written.size(); ++i) {
        const std::span<const float> own = written[i],
                                     other = std::span(formed).subspan((promptLength - 1 + i) * own.size(), own.size());
        check.distance.add(model.info(), own, other);
        ++check.tokens;
        if (std::ranges::max_element(own) - own.begin() == std::ranges::max_element(other) - other.begin())
            ++check.sameChoice;
    }
    return check;
}

/// Writes the picture in a text as a PNG file of the same size.
void writePicture(const GenerateOptions& options, const LanguageModel& model, const std::vector<int>& tokens) {
    if (options.picture.empty()) return;
    const Image picture = pictureIn(*model.config().picture, tokens);
    if (const auto failure = writePng(toQImage(picture), QString::fromStdString(options.picture)))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
}

/// How many tokens the model writes at most, and why a text of so many ends.
struct Length {
    int most = 0;
    TextEnd atMost = TextEnd::MaxTokens;
};
Length lengthOf(const GenerateOptions& options, const LanguageModel& model, size_t promptLength) {
    if (options.maxTokens) return {.most = *options.maxTokens};
    const auto given = static_cast<int64_t>(promptLength);
    if (const auto& picture = model.config().picture)
        return {.most = static_cast<int>(std::max<int64_t>(picture->tokens() - given, 0)),
                .atMost = TextEnd::PictureComplete};
    const int64_t most =
        static_cast<int64_t>(mostTokens(model.source().generation(), promptLength, promptLength + kTokens)) - given;
    return {.most = static_cast<int>(std::max<int64_t>(most, 0)),
            .atMost = most < kTokens ? TextEnd::FolderLimit : TextEnd::MaxTokens};
}

/// Writes why a text ended to standard error.
void printEnd(const GenerateOptions& options, TextEnd end, const std::string& sentence) {
    const bool isChangeable = !options.maxTokens && (end == TextEnd::MaxTokens || end == TextEnd::FolderLimit);
    fmt::print(stderr, "attention-cli: {}{}\n", sentence,
               isChangeable ? " --max-tokens sets another length." : std::string_view());
}

/// Writes the best hypothesis of a beam search after the tokens in the model.
int generateByBeam(const GenerateOptions& options, BeamSettings settings, LanguageModel& model, const Length& length) {
    settings.maxTokens = length.most;
    std::vector<int> written = model.tokens();
    const size_t promptLength = written.size();
    const BeamResult found = beamSearch(model, settings);
    if (!found.hypotheses.empty()) {
        const std::vector<int>& best = found.hypotheses.front().tokens;
        written.insert(written.end(), best.begin(), best.end());
    }
    writePicture(options, model, written);
    const Tokenizer* tokenizer = model.tokenizer();
    const auto textOf = [&](const std::vector<int>& tokens) {
        return tokenizer ? tokenizer->decode(tokens, true) : fmt::format("{}", fmt::join(tokens, " "));
    };
    const auto endOf = [&](const Hypothesis& each) {
        std::vector<int> all(written.begin(), written.begin() + static_cast<std::ptrdiff_t>(promptLength));
        all.insert(all.end(), each.tokens.begin(), each.tokens.end());
        const bool isFull = std::ssize(each.tokens) < length.most;
        const TextEnd end = endAtToken(model, all).value_or(isFull ? TextEnd::ContextFull : length.atMost);
        return std::pair(end, sentenceOf(end, model, all, promptLength));
    };
    if (!options.json) {
        const std::string text = found.hypotheses.empty() ? std::string() : textOf(found.hypotheses.front().tokens);
        fmt::print("{}\n", isatty(STDOUT_FILENO) == 1 ? printableLines(text) : text);
        if (!found.hypotheses.empty()) {
            const auto [end, sentence] = endOf(found.hypotheses.front());
            printEnd(options, end, sentence);
        }
        return kDone;
    }
    nlohmann::json hypotheses = nlohmann::json::array(), tree = nlohmann::json::array();
    for (const Hypothesis& each : found.hypotheses) {
        const auto [end, sentence] = endOf(each);
        hypotheses.push_back({{"text", textOf(each.tokens)},
                              {"tokens", each.tokens},
                              {"logProbability", each.logProbability},
                              {"score", each.score},
                              {"end", nameOf(end)},
                              {"ended", sentence},
                              {"node", each.node}});
    }
    constexpr std::array kFates{"kept", "dropped", "finished"};
    for (const BeamNode& each : found.tree)
        tree.push_back({{"token", each.token},
                        {"parent", each.parent},
                        {"logProbability", each.logProbability},
                        {"score", each.score},
                        {"fate", kFates.at(static_cast<size_t>(each.fate))}});
    print({{"hypotheses", hypotheses}, {"tree", tree}}, model.info());
    return kDone;
}

int generate(const Command& command, const GenerateOptions& options) {
    const auto model = options.model.open(false);
    if (!predictsTokens(model->config().readout()))
        throw Error({.what = "this model predicts no tokens; it does not continue a text",
                     .where = model->info().name,
                     .hint = "measure what it says with attention-cli eval"});
    if (model->config().readout() != TextReadout::NextToken)
        throw Error({.what = "this model fills in hidden words; it does not continue a text",
                     .where = model->info().name,
                     .hint = "write [MASK] into the text, and read what stands there with attention-cli lens"});
    const std::optional<WrittenPicture>& picture = model->config().picture;
    if (!options.picture.empty() && !picture)
        throw Error({.what = "this model writes no pictures",
                     .where = model->info().name,
                     .hint = "leave out --picture, or choose a model that was trained on the task pixels"});
    const Tokenizer* tokenizer = model->tokenizer();
    std::vector<int> tokens = options.prompt.encode(*model);
    const auto promptLength = tokens.size();
    const auto capacity = static_cast<size_t>(model->capacity());
    if (tokens.size() > capacity)
        throw Error({.what = fmt::format("the prompt has {} tokens, but the context holds {}{}", tokens.size(),
                                         capacity, model->whyNoMore()),
                     .where = "--prompt",
                     .hint = "shorten the prompt"});
    const GenerationRules& rules = model->source().generation();
    const Length length = lengthOf(options, *model, promptLength);
    const int most = length.most;
    if (const size_t longest = std::min(promptLength + static_cast<size_t>(most), capacity);
        static_cast<int64_t>(longest) > model->cacheRows())
        fmt::print(stderr, "attention-cli: the keys and values of {} tokens take {} MiB on {}\n", longest,
                   model->cacheBytes(longest) >> 20, model->device().name());
    model->setSides(
        {.source = options.prompt.encodeSource(*model), .parents = options.prompt.readTree(*model, tokens.size())});
    const HowToWrite how = howToWrite(command, options, rules);
    if (how.beam.width > 0 && most > 0) {
        model->feed(tokens);
        return generateByBeam(options, how.beam, *model, length);
    }
    const size_t fullLength = std::min(promptLength + static_cast<size_t>(most), capacity + 1);
    std::optional<StreamDecoder> decoder;
    if (tokenizer != nullptr) decoder.emplace(*tokenizer, true);
    const bool isTerminal = isatty(STDOUT_FILENO) == 1; // a model's tokens must not control a terminal
    const auto write = [&](const std::string& text) { fmt::print("{}", isTerminal ? printableLines(text) : text); };
    size_t shown = 0;
    const auto show = [&] {
        for (; shown < tokens.size() && !options.json; ++shown) {
            if (decoder)
                write(decoder->push(tokens[shown]));
            else
                fmt::print("{}{}", shown == 0 ? "" : " ", tokens[shown]);
        }
        flushOutput();
    };
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    model->feed(tokens);
    const double prefillSeconds = std::chrono::duration<double>(Clock::now() - start).count();
    show(); // reports a refused input before anything is printed
    const auto decodeStart = Clock::now();
    TextEnd end = length.atMost;
    nlohmann::json steps = nlohmann::json::array();
    std::vector<std::vector<float>> written; // logits, for the check
    for (int i = 0; i < most; ++i) {
        if (options.formed) written.emplace_back(model->logits().begin(), model->logits().end());
        const Candidate next = sampleToken(model->logits(), how.sampling, tokens, tokens.size(),
                                           tokenLimits(rules, tokens, promptLength, fullLength));
        tokens.push_back(next.token);
        if (options.json)
            steps.push_back({{"token", next.token}, {"probability", next.probability}, {"logit", next.logit}});
        const std::optional<TextEnd> ended = endAtToken(*model, tokens);
        if (ended != TextEnd::EndToken) show();
        if (ended) {
            end = *ended;
            break;
        }
        if (i + 1 == most) break;
        if (model->tokens().size() == capacity) {
            end = TextEnd::ContextFull;
            break;
        }
        model->feed(std::span(tokens).last(1));
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - decodeStart).count();
    const auto generated = tokens.size() - promptLength;
    writePicture(options, *model, tokens);
    const std::string ended = sentenceOf(end, *model, tokens, promptLength);
    const FormedCheck check = options.formed ? compareWithFormed(*model, written, promptLength) : FormedCheck{};
    if (options.json) {
        nlohmann::json result{{"text", tokenizer ? tokenizer->decode(tokens, true) : ""},
                              {"tokens", tokens},
                              {"promptLength", promptLength},
                              {"steps", steps},
                              {"end", nameOf(end)},
                              {"ended", ended},
                              {"cacheBytes", model->cacheBytes(static_cast<size_t>(model->cacheRows()))},
                              {"prefillSeconds", prefillSeconds},
                              {"tokensPerSecond", seconds > 0 ? static_cast<double>(generated) / seconds : 0},
                              {"device", model->device().name()}};
        if (options.formed)
            result["formed"] = {{"tokens", check.tokens},
                                {"sameChoice", check.sameChoice},
                                {"largestDifference", check.distance.difference},
                                {"largestLogit", check.distance.largest}};
        print(std::move(result), model->info());
        return kDone;
    }
    write(decoder ? decoder->finish() : "");
    fmt::print("\n");
    flushOutput(); // before what follows on standard error
    if (options.formed)
        fmt::print(
            stderr,
            "formed path: it rates the same token highest at {} of {} places; logits, up to {:.4g}, differ by at "
            "most {:.2g}\n",
            check.sameChoice, check.tokens, static_cast<double>(check.distance.largest),
            static_cast<double>(check.distance.difference));
    printEnd(options, end, ended);
    return kDone;
}

} // namespace

void addGenerate(Command& command) {
    const auto options = std::make_shared<GenerateOptions>();
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->prompt.addTreeTo(command);
    options->prompt.addSourceTo(command);
    const auto real = [&](const char* name, std::optional<double>& value, const char* usual,
                          const char* help) -> Option& {
        return command
            .numberOption(
                name, [&value](double given) { value = given; }, help)
            .defaultText(usual);
    };
    const auto whole = [&](const char* name, std::optional<int>& value, const char* help) -> Option& {
        return command
            .wholeNumberOption(
                name, [&value](int64_t given) { value = static_cast<int>(given); }, help)
            .defaultText("0");
    };
    command.about(
        "Where an option is left out, the model's folder chooses: its generation_config.json, or else its "
        "config.json. The order is: repetition penalty, which counts the tokens of the prompt too, tokens that "
        "the folder bars or forces, temperature, top-k, top-p of the tokens that are left, min-p.");
    command.flag("--greedy", options->greedy, "always take the most probable token");
    real("--temperature X", options->temperature, "1", "below 1: safer choices; above 1: more surprising ones")
        .above(0);
    whole("--top-k K", options->topK, "choose among the K most probable tokens; 0: all").range(0, 1e9);
    real("--top-p P", options->topP, "1", "choose among the most probable tokens whose probabilities together reach P")
        .range(0, 1);
    real("--min-p P", options->minP, "0", "drop tokens less probable than P times the most probable one").range(0, 1);
    real("--repetition-penalty X", options->repetitionPenalty, "1",
         "above 1: tokens that already occur become less probable")
        .range(0.01, 100);
    command.option("--seed N", options->seed, "seed of the random choices");
    whole("--beams N", options->beams, "beam search: keep the N most probable texts; 0: draw tokens").range(0, 256);
    real("--length-penalty X", options->lengthPenalty, "1",
         "of beam search: a text scores log p / tokens^X, where the end token counts (Wu et al. 2016 divide by "
         "((5 + tokens) / 6)^X); 0 favours short ones. A finished text takes no place in the beam")
        .range(0, 10);
    command
        .wholeNumberOption(
            "--max-tokens N", [=](int64_t tokens) { options->maxTokens = static_cast<int>(tokens); },
            "number of tokens to write")
        .range(0, 1e9)
        .defaultText(fmt::format("{}, or as many as complete a picture", kTokens));
    command.option("--picture FILE", options->picture,
                   "also write the picture of a model that writes pixels to this .png file");
    command.flag(
        "--formed", options->formed,
        "then compute every pattern as a whole, without fused kernels, caches and states, and compare the logits");
    command.flag("--json", options->json, "print text, tokens, probabilities and timing as JSON at the end");
    command.example("attention-cli generate builtin:stories --prompt 'Once upon a time' --temperature 0.8 --top-p 0.95 "
                    "--seed 7");
    command.action([=, &command] { return generate(command, *options); });
}

} // namespace attn::cli
