#include "engine/analysis/head_detectors.h"

#include "engine/analysis/average_linkage.h"
#include "engine/analysis/overlap.h"
#include "engine/core/error.h"
#include "engine/core/rng.h"
#include "engine/inference/language_model.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace attn {
namespace {

constexpr const char* kProbeText =
    "When the little girl saw the old dog by the river, she gave the dog a red ball. The old dog took the red ball and "
    "ran to "
    "the river. The girl and her brother looked for the dog, and the dog looked for the girl.";
constexpr int kLongestPeriod = 24, kShortestPeriod = 4, kPrintPeriod = 8;
constexpr int kLocal = 4, kFurthestOffset = 8;
constexpr float kLeast = 0.4f;  ///< smallest score that names a head
constexpr float kBroad = 0.75f; ///< smallest score for Broad, which every head has to some degree

/// The pattern of one head, [tokens, tokens].
struct Pattern {
    std::span<const float> cells;
    int tokens;
    float at(int query, int key) const { return cells[static_cast<size_t>(query * tokens + key)]; }
};

/// Mean of `cell` over queries from `from` to `end`.
template <class Cell> float meanOver(int from, int end, Cell&& cell) {
    if (end <= from) return 0;
    double sum = 0;
    for (int query = from; query < end; ++query) sum += static_cast<double>(cell(query));
    return static_cast<float>(sum / (end - from));
}

/// Weight on which two patterns agree at each position, beyond an even distribution; mean over queries.
float agreement(const Pattern& a, const Pattern& b) {
    return meanOver(2 * kLocal, a.tokens, [&](int query) {
        const float even = 1 / static_cast<float>(query + 1);
        float sum = 0;
        for (int key = 0; key <= query; ++key)
            sum += std::max(0.0f, std::min(a.at(query, key), b.at(query, key)) - even);
        return sum;
    });
}

/// Overlap of a pattern with an even distribution; mean over queries.
float evenness(const Pattern& pattern) {
    return meanOver(2 * kLocal, pattern.tokens, [&](int query) {
        const float even = 1 / static_cast<float>(query + 1);
        float sum = 0;
        for (int key = 0; key <= query; ++key) sum += std::min(pattern.at(query, key), even);
        return sum;
    });
}

std::vector<int> randomTokens(const LanguageModel& model, int count, uint64_t seed) {
    std::vector<int> allowed;
    for (int id = 0; id < model.info().vocabulary; ++id)
        if (!model.tokenizer() ||
            (id < static_cast<int>(model.tokenizer()->vocabularySize()) && !model.tokenizer()->isSpecial(id)))
            allowed.push_back(id);
    std::vector<int> tokens;
    // Draw without replacement: a token occurs twice only if the vocabulary is smaller than `count`.
    for (int i = 0; i < count; ++i) {
        const auto left = allowed.size() - static_cast<size_t>(i) % allowed.size();
        const auto chosen = static_cast<size_t>(uniform(seed, static_cast<uint64_t>(i)) * static_cast<double>(left));
        std::swap(allowed[chosen], allowed[left - 1]);
        tokens.push_back(allowed[left - 1]);
    }
    return tokens;
}

/// Patterns of all heads. @return [layers heads, T, T]
std::vector<float> patternsOf(LanguageModel& model, const std::vector<int>& tokens) {
    std::vector<float> all;
    const auto captured = model.capture(tokens, inEveryBlock("attn.hook_pattern"));
    if (static_cast<int>(captured.size()) != model.info().layers)
        throw Error({.what = "some layers form no pattern",
                     .where = model.info().name,
                     .hint = "open a model whose attention has patterns"});
    for (const auto& hook : captured) all.insert(all.end(), hook.values.begin(), hook.values.end());
    return all;
}

} // namespace

std::string_view nameOf(HeadKind kind) {
    constexpr std::array<std::string_view, kHeadKinds> names{"induction",     "duplicate token", "previous token",
                                                             "current token", "first token",     "fixed offset",
                                                             "positional",    "local",           "broad"};
    return names[static_cast<size_t>(kind)];
}

std::vector<HeadKind> HeadScores::labels() const {
    std::vector<HeadKind> found;
    for (HeadKind kind : {HeadKind::Induction, HeadKind::DuplicateToken, HeadKind::PreviousToken,
                          HeadKind::CurrentToken, HeadKind::FirstToken, HeadKind::FixedOffset})
        if (of(kind) >= kLeast) found.push_back(kind);
    std::ranges::stable_sort(found, [this](HeadKind a, HeadKind b) { return of(a) > of(b); });
    // A specific kind implies the general kinds below.
    if (!found.empty()) return found;
    for (HeadKind kind : {HeadKind::Positional, HeadKind::Local})
        if (of(kind) >= kLeast) found.push_back(kind);
    if (found.empty() && of(HeadKind::Broad) >= kBroad) found.push_back(HeadKind::Broad);
    return found;
}

std::string HeadScores::title() const {
    const std::vector<HeadKind> found = labels();
    if (found.empty()) return "mixed";
    return found.front() == HeadKind::FixedOffset ? fmt::format("{} back", offset) : std::string(nameOf(found.front()));
}

std::string HeadScores::explanation(HeadKind kind) const {
    const std::string share = fmt::format("{:.0f} %", static_cast<double>(of(kind)) * 100);
    switch (kind) {
    case HeadKind::Induction:
        return share +
               " of its attention on repeated random tokens goes to the token that followed an earlier copy of the "
               "current token";
    case HeadKind::DuplicateToken:
        return share + " of its attention on repeated random tokens goes to an earlier copy of the current token";
    case HeadKind::PreviousToken:
        return share + " of its attention goes to the previous token";
    case HeadKind::CurrentToken:
        return share + " of its attention goes to the current token";
    case HeadKind::FirstToken:
        return share + " of its attention goes to the first token";
    case HeadKind::FixedOffset:
        return fmt::format("{} of its attention goes to the token {} positions back", share, offset);
    case HeadKind::Positional:
        return share +
               " of its attention, beyond an even distribution, stays on the same positions when the tokens change";
    case HeadKind::Broad:
        return fmt::format("its attention overlaps {} with an even distribution", share);
    case HeadKind::Local:
        return fmt::format("{} of its attention goes to the last {} tokens", share, kLocal);
    }
    return {};
}

std::span<const float> HeadDetection::printOf(int site, int head) const {
    const auto cells = static_cast<size_t>(printTokens * printTokens);
    return std::span(prints).subspan(static_cast<size_t>(site * heads + head) * cells, cells);
}

std::shared_ptr<AnalysisResult> HeadDetectionAnalysis::run(RunningModel& running,
                                                           const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    auto result = std::make_shared<HeadDetection>();
    const auto& info = model.info();
    result->sites = info.layers;
    result->heads = info.heads;
    const int period = std::min({kLongestPeriod, info.vocabulary / 2, model.capacity() / 2});
    if (period < kShortestPeriod)
        throw Error({.what = "the context or the vocabulary is too small to repeat random tokens",
                     .where = info.name,
                     .hint = "open a larger model"});
    result->period = period;
    const auto repeated = [&](int count, uint64_t from) {
        std::vector<int> tokens = randomTokens(model, count, from);
        const std::vector<int> once = tokens;
        tokens.insert(tokens.end(), once.begin(), once.end());
        return patternsOf(model, tokens);
    };
    const auto report = [&](float share) {
        if (context.report) context.report(share, "head kinds");
    };
    report(0);
    const std::vector<float> first = repeated(period, seed);
    report(0.3f);
    // Other tokens without repetition: heads that follow repetitions attend elsewhere.
    const std::vector<float> second = patternsOf(model, randomTokens(model, 2 * period, seed + 1));
    report(0.6f);
    std::vector<float> ofText;
    int textTokens = 0;
    if (model.tokenizer()) try {
            std::vector<int> tokens = model.tokenizer()->encode(kProbeText).ids;
            if (tokens.size() > static_cast<size_t>(model.capacity()))
                tokens.resize(static_cast<size_t>(model.capacity()));
            ofText = patternsOf(model, tokens);
            textTokens = static_cast<int>(tokens.size());
            result->text = kProbeText;
        } catch (const Error&) { // a tokenizer that cannot encode English: random tokens are enough
        }

    const int tokens = 2 * period;
    const auto cells = static_cast<size_t>(tokens * tokens), textCells = static_cast<size_t>(textTokens * textTokens);
    for (int layer = 0; layer < info.layers; ++layer)
        for (int head = 0; head < info.heads; ++head) {
            const auto at = static_cast<size_t>(layer * info.heads + head);
            const Pattern random{std::span(first).subspan(at * cells, cells), tokens},
                other{std::span(second).subspan(at * cells, cells), tokens};
            std::vector<Pattern> both{random};
            if (textTokens > kFurthestOffset)
                both.push_back({std::span(ofText).subspan(at * textCells, textCells), textTokens});
            const auto mean = [&](int from, auto&& cell) {
                float sum = 0;
                for (const Pattern& pattern : both)
                    sum += meanOver(from, pattern.tokens, [&](int query) { return cell(pattern, query); });
                return sum / static_cast<float>(both.size());
            };
            HeadScores scores{.site = layer, .head = head};
            const auto set = [&](HeadKind kind, float value) { scores.scores[static_cast<size_t>(kind)] = value; };
            set(HeadKind::Induction,
                meanOver(period, tokens, [&](int query) { return random.at(query, query - period + 1); }));
            set(HeadKind::DuplicateToken,
                meanOver(period, tokens, [&](int query) { return random.at(query, query - period); }));
            set(HeadKind::PreviousToken, mean(1, [](const Pattern& p, int query) { return p.at(query, query - 1); }));
            set(HeadKind::CurrentToken, mean(1, [](const Pattern& p, int query) { return p.at(query, query); }));
            set(HeadKind::FirstToken, mean(1, [](const Pattern& p, int query) { return p.at(query, 0); }));
            for (int offset = 2; offset <= std::min(kFurthestOffset, period - 2);
                 ++offset) { // below the offset of an induction head
                const float score =
                    mean(offset, [&](const Pattern& p, int query) { return p.at(query, query - offset); });
                if (score <= scores.of(HeadKind::FixedOffset)) continue;
                set(HeadKind::FixedOffset, score);
                scores.offset = offset;
            }
            set(HeadKind::Positional, agreement(random, other));
            set(HeadKind::Broad, evenness(random));
            set(HeadKind::Local, mean(2 * kLocal, [](const Pattern& p, int query) {
                    float sum = 0;
                    for (int key = query - kLocal + 1; key <= query; ++key) sum += p.at(query, key);
                    return sum;
                }));
            result->all.push_back(scores);
        }
    report(0.9f);
    result->printTokens = 2 * std::min(kPrintPeriod, period);
    result->prints = repeated(result->printTokens / 2, seed);
    return result;
}

float similarity(std::span<const float> a, std::span<const float> b) {
    const auto tokens = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(a.size()))));
    return static_cast<float>(overlap(a, b) / static_cast<double>(tokens));
}

std::vector<SimilarHead> similarHeads(const HeadDetection& detection, int layer, int head,
                                      const HeadDetection& others) {
    if (detection.printTokens != others.printTokens)
        throw Error({.what = fmt::format("fingerprints of {} tokens and of {} tokens cannot be compared",
                                         detection.printTokens, others.printTokens),
                     .where = "heads like this one",
                     .hint = "compare models whose vocabulary and context hold at least 16 tokens"});
    if (layer < 0 || layer >= detection.sites || head < 0 || head >= detection.heads)
        throw Error({.what = fmt::format("there is no head {} in layer {}", head, layer),
                     .where = "heads like this one",
                     .hint = fmt::format("the model has {} layers of {} heads", detection.sites, detection.heads)});
    const auto own = detection.printOf(layer, head);
    std::vector<SimilarHead> found;
    for (int l = 0; l < others.sites; ++l)
        for (int h = 0; h < others.heads; ++h)
            if (&detection != &others || l != layer || h != head)
                found.push_back({l, h, similarity(own, others.printOf(l, h))});
    std::ranges::stable_sort(found, std::ranges::greater(), &SimilarHead::similarity);
    return found;
}

std::vector<std::vector<std::pair<int, int>>> headClusters(const HeadDetection& detection, float least) {
    const auto placeOf = [&](size_t at) {
        return std::pair(static_cast<int>(at) / detection.heads, static_cast<int>(at) % detection.heads);
    };
    const auto printOf = [&](size_t at) { return detection.printOf(placeOf(at).first, placeOf(at).second); };
    const auto count = static_cast<size_t>(detection.sites * detection.heads);
    std::vector<std::vector<double>> alike(count, std::vector<double>(count, 1));
    for (size_t a = 0; a < count; ++a)
        for (size_t b = 0; b < a; ++b)
            alike[a][b] = alike[b][a] = static_cast<double>(similarity(printOf(a), printOf(b)));
    std::vector<std::vector<std::pair<int, int>>> result;
    for (const auto& group : averageLinkage(std::move(alike), static_cast<double>(least))) {
        result.emplace_back();
        for (const size_t at : group) result.back().push_back(placeOf(at));
    }
    return result;
}

} // namespace attn
