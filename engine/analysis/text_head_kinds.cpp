#include "engine/analysis/text_head_kinds.h"

#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/core/rng.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace attn {
namespace {

constexpr const char* kProbeText =
    "When the little girl saw the old dog by the river, she gave the dog a red ball. The old dog took the red ball and "
    "ran to "
    "the river. The girl and her brother looked for the dog, and the dog looked for the girl.";
constexpr int kLongestPeriod = 24, kShortestPeriod = 4, kPrintPeriod = 8;
constexpr int kLocal = 4, kFurthestOffset = 8;

std::string tokensBack(int, int right) { return fmt::format("{} back", -right); }

constexpr std::array<HeadKind, kTextHeadKinds> kKinds{{
    {.id = "induction",
     .title = "induction",
     .finding = "{0} of its attention on repeated random tokens goes to the token that followed an earlier copy of the "
                "current token",
     .source = "Olsson et al. 2022, arXiv:2209.11895"},
    {.id = "duplicate token",
     .title = "duplicate token",
     .finding = "{0} of its attention on repeated random tokens goes to an earlier copy of the current token",
     .source = "Wang et al. 2022, arXiv:2211.00593"},
    {.id = "previous token",
     .title = "previous token",
     .finding = "{0} of its attention goes to the previous token",
     .source = ""},
    {.id = "current token",
     .title = "current token",
     .finding = "{0} of its attention goes to the current token",
     .source = ""},
    {.id = "first token",
     .title = "first token",
     .finding = "{0} of its attention goes to the first token",
     .source = "Xiao et al. 2023, arXiv:2309.17453"},
    {.id = "fixed offset",
     .title = "fixed offset",
     .finding = "{0} of its attention goes to the token {1} positions back",
     .source = "Clark et al. 2019, arXiv:1906.04341",
     .offsetTitle = tokensBack},
    {.id = "positional",
     .title = "positional",
     .finding = "{0} of its attention, beyond an even distribution, stays on the same positions when the tokens change",
     .source = "",
     .tier = 1},
    {.id = "local",
     .title = "local",
     .finding = "{0} of its attention goes to the last 4 tokens",
     .source = "",
     .tier = 2},
    {.id = "broad", // every head is broad to some degree
     .title = "broad",
     .finding = "{0} of its attention overlaps with an even distribution",
     .source = "",
     .least = 0.75f,
     .tier = 3},
    {.id = "next token",
     .title = "next token",
     .finding = "{0} of its attention goes to the next token",
     .source = "Clark et al. 2019, arXiv:1906.04341"},
    {.id = "same place",
     .title = "same place",
     .finding = "{0} of its attention goes to the source token at its own place, or at a fixed distance of at most 2",
     .source = ""},
    {.id = "last source token",
     .title = "last source token",
     .finding = "{0} of its attention goes to the last token of the source",
     .source = ""},
}};

/// The pattern of one head, [tokens, keys].
struct Pattern {
    std::span<const float> cells;
    int tokens, keys;
    bool looksAhead; ///< whether a query sees a later key

    Pattern(const SitePattern& site, int head)
        : cells(std::span(site.values).subspan(site.at(head, 0), static_cast<size_t>(site.layout.cells()))),
          tokens(static_cast<int>(site.layout.tokens)), keys(static_cast<int>(site.layout.keyCount())),
          looksAhead(hasWeightAhead()) {}
    float at(int query, int key) const { return cells[static_cast<size_t>(query * keys + key)]; }
    int seen(int query) const { return looksAhead ? keys : query + 1; } ///< number of keys that a query sees
    bool hasWeightAhead() const {
        for (int query = 0; query < tokens; ++query)
            for (int key = query + 1; key < keys; ++key)
                if (at(query, key) > 0) return true;
        return false;
    }
};

/// Mean of `cell` over queries from `from` to `end`.
template <class Cell> float meanOver(int from, int end, Cell&& cell) {
    if (end <= from) return 0;
    double sum = 0;
    for (int query = from; query < end; ++query) sum += static_cast<double>(cell(query));
    return static_cast<float>(sum / (end - from));
}

/// The weight that two patterns share beyond an even distribution; mean over queries.
float agreement(const Pattern& a, const Pattern& b) {
    return meanOver(2 * kLocal, a.tokens, [&](int query) {
        const float even = 1 / static_cast<float>(a.seen(query));
        float sum = 0;
        for (int key = 0; key < a.seen(query); ++key)
            sum += std::max(0.0f, std::min(a.at(query, key), b.at(query, key)) - even);
        return sum;
    });
}

/// The weight that a pattern shares with an even distribution; mean over queries.
float evenness(const Pattern& pattern) {
    return meanOver(2 * kLocal, pattern.tokens, [&](int query) {
        const float even = 1 / static_cast<float>(pattern.seen(query));
        float sum = 0;
        for (int key = 0; key < pattern.seen(query); ++key) sum += std::min(pattern.at(query, key), even);
        return sum;
    });
}

/// The tokens that stand for a piece of text.
std::vector<int> ordinaryTokens(const Tokenizer* tokenizer, int64_t vocabulary) {
    std::vector<int> ordinary;
    for (int id = 0; id < vocabulary; ++id)
        if (!tokenizer || (id < static_cast<int>(tokenizer->vocabularySize()) && !tokenizer->isSpecial(id)))
            ordinary.push_back(id);
    return ordinary;
}

/// Draws different tokens. @param count at most as many as there are ordinary ones
std::vector<int> randomTokens(const Tokenizer* tokenizer, int64_t vocabulary, int count, uint64_t seed) {
    std::vector<int> allowed = ordinaryTokens(tokenizer, vocabulary);
    std::vector<int> tokens;
    for (int i = 0; i < count; ++i) {
        const auto left = allowed.size() - static_cast<size_t>(i);
        const auto chosen = static_cast<size_t>(uniform(seed, static_cast<uint64_t>(i)) * static_cast<double>(left));
        std::swap(allowed[chosen], allowed[left - 1]);
        tokens.push_back(allowed[left - 1]);
    }
    return tokens;
}

/// Draws `count` random tokens and repeats them to `times` copies. A source gets other tokens of the same number.
Input randomInput(const LanguageModel& model, int count, int times, uint64_t seed) {
    const auto draw = [&](const Tokenizer* tokenizer, int64_t vocabulary, uint64_t from) {
        const std::vector<int> once = randomTokens(tokenizer, vocabulary, count, from);
        std::vector<int> all;
        for (int i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
        return all;
    };
    TextInput input{.tokens = draw(model.tokenizer(), model.info().vocabulary, seed)};
    if (const StreamSpec* source = model.config().source(AxisKind::Tokens))
        input.source = draw(model.sourceTokenizer(), source->tokens.vocabulary, seed + 2);
    return input;
}

/// The fixed text, if the model's tokenizers can encode English. A model with a source gets it as source and target.
std::optional<Input> probeText(const LanguageModel& model) {
    if (!model.tokenizer()) return {};
    try {
        TextInput text{.tokens = tokensOf(model, kProbeText)};
        text.tokens.resize(std::min(text.tokens.size(), static_cast<size_t>(model.capacity())));
        if (model.info().readsSource) {
            text.source = sourceTokensOf(model, kProbeText);
            const auto most = static_cast<size_t>(model.info().structure.axes.front().length);
            text.source.resize(std::min(text.source.size(), most));
        }
        Input input(std::move(text));
        model.require(input);
        return input;
    } catch (const Error&) {
        return {};
    }
}

/// The runs that the scores are measured on, one pattern per site.
struct Runs {
    int period = 0;
    std::vector<SitePattern> repeated; ///< random tokens, twice
    std::vector<SitePattern> others;   ///< as many other random tokens, none of which repeats
    std::vector<SitePattern> text;     ///< the fixed text; empty without a tokenizer
};

/// The scores of cross-attention, whose keys are tokens of the source.
HeadScores crossScoresOf(const Runs& runs, size_t site, int head) {
    const Pattern random(runs.repeated[site], head), other(runs.others[site], head);
    HeadScores scores(0, head, kKinds);
    const auto set = [&](TextHeadKind kind, float value) { scores.scores[static_cast<size_t>(kind)] = value; };
    const auto mean = [&](auto&& cell) {
        return meanOver(1, random.tokens, [&](int query) { return cell(random, query); });
    };
    set(TextHeadKind::FirstToken, mean([](const Pattern& p, int query) { return p.at(query, 0); }));
    set(TextHeadKind::LastSourceToken, mean([](const Pattern& p, int query) { return p.at(query, p.keys - 1); }));
    constexpr int kFurthest = 2;
    float most = 0;
    for (int offset = -kFurthest; offset <= kFurthest; ++offset)
        most = std::max(most, meanOver(kFurthest, random.tokens - kFurthest,
                                       [&](int query) { return random.at(query, query + offset); }));
    set(TextHeadKind::SamePlace, most);
    set(TextHeadKind::Positional, agreement(random, other));
    set(TextHeadKind::Broad, evenness(random));
    scores.beyond = scores.scores;
    return scores;
}

HeadScores scoresOf(const Runs& runs, size_t site, int head) {
    const Pattern random(runs.repeated[site], head), other(runs.others[site], head);
    std::vector<Pattern> both{random};
    if (!runs.text.empty() && runs.text[site].layout.tokens > kFurthestOffset) both.emplace_back(runs.text[site], head);
    const auto mean = [&](int from, auto&& cell) {
        float sum = 0;
        for (const Pattern& pattern : both)
            sum += meanOver(from, pattern.tokens, [&](int query) { return cell(pattern, query); });
        return sum / static_cast<float>(both.size());
    };
    HeadScores scores(0, head, kKinds);
    const auto set = [&](TextHeadKind kind, float value) { scores.scores[static_cast<size_t>(kind)] = value; };
    const int period = runs.period;
    set(TextHeadKind::Induction,
        meanOver(period, random.tokens, [&](int query) { return random.at(query, query - period + 1); }));
    set(TextHeadKind::DuplicateToken,
        meanOver(period, random.tokens, [&](int query) { return random.at(query, query - period); }));
    set(TextHeadKind::PreviousToken, mean(1, [](const Pattern& p, int query) { return p.at(query, query - 1); }));
    set(TextHeadKind::CurrentToken, mean(1, [](const Pattern& p, int query) { return p.at(query, query); }));
    set(TextHeadKind::FirstToken, mean(1, [](const Pattern& p, int query) { return p.at(query, 0); }));
    set(TextHeadKind::FixedOffset, 0);
    for (int offset = 2; offset <= std::min(kFurthestOffset, period - 2); ++offset) { // offsets below that of induction
        const float score = mean(offset, [&](const Pattern& p, int query) { return p.at(query, query - offset); });
        if (score <= scores.of(TextHeadKind::FixedOffset)) continue;
        set(TextHeadKind::FixedOffset, score);
        scores.right = -offset;
    }
    set(TextHeadKind::Positional, agreement(random, other));
    set(TextHeadKind::Broad, evenness(random));
    set(TextHeadKind::Local, mean(2 * kLocal, [](const Pattern& p, int query) {
            float sum = 0;
            for (int key = query - kLocal + 1; key <= query; ++key) sum += p.at(query, key);
            return sum;
        }));
    if (random.looksAhead)
        set(TextHeadKind::NextToken, mean(0, [](const Pattern& p, int query) {
                return query + 1 < p.tokens ? p.at(query, query + 1) : 0; // the last token has none
            }));
    scores.beyond = scores.scores;
    return scores;
}

} // namespace

std::span<const HeadKind> textHeadKinds() { return kKinds; }

HeadDetection detectOnText(LanguageModel& model, uint64_t seed, const std::function<void(float share)>& report) {
    const ModelInfo& info = model.info();
    HeadDetection result;
    result.kinds = kKinds;
    const auto half = [](const Tokenizer* tokenizer, int64_t vocabulary) {
        return static_cast<int>(ordinaryTokens(tokenizer, vocabulary).size() / 2);
    };
    Runs runs{.period = std::min({kLongestPeriod, half(model.tokenizer(), info.vocabulary), model.capacity() / 2})};
    if (const StreamSpec* source = model.config().source(AxisKind::Tokens))
        runs.period = std::min({runs.period, static_cast<int>(info.structure.axes.front().length / 2),
                                half(model.sourceTokenizer(), source->tokens.vocabulary)});
    if (runs.period < kShortestPeriod)
        throw Error({.what = "the context or the vocabulary is too small to repeat random tokens",
                     .where = info.name,
                     .hint = "open a larger model"});
    result.period = runs.period;
    const auto repeated = [&](int count) { return wholePatterns(model, randomInput(model, count, 2, seed)); };
    runs.repeated = repeated(runs.period);
    report(0.3f);
    // Heads that follow repetitions attend to other tokens here.
    runs.others = wholePatterns(model, randomInput(model, 2 * runs.period, 1, seed + 1));
    report(0.6f);
    if (const std::optional<Input> text = probeText(model)) { // else random tokens only
        runs.text = wholePatterns(model, *text);
        result.text = kProbeText;
    }
    report(0.9f);
    const std::vector<SitePattern> prints = repeated(std::min(kPrintPeriod, runs.period));
    for (size_t site = 0; site < prints.size(); ++site) {
        if (prints[site].values.empty()) continue;
        std::vector<HeadScores> scores;
        const bool isCross = info.structure.isCross(static_cast<int>(site));
        for (int head = 0; head < prints[site].heads; ++head)
            scores.push_back(isCross ? crossScoresOf(runs, site, head) : scoresOf(runs, site, head));
        result.add(std::move(scores), textHeadPrints(prints[site]), info.structure, static_cast<int>(site));
    }
    return result;
}

} // namespace attn
