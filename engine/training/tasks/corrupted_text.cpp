#include "engine/data/draws.h"
#include "engine/data/text_corpus.h"
#include "engine/data/tokenizer_json.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

constexpr std::array<Param, 3> kParams{{
    {"context", "Context", "Number of tokens of a piece of the text", Param::Kind::Integer, 8, 512, 1, 64},
    {"hidden", "Hidden share", "Share of these tokens that the source hides", Param::Kind::Real, 0.05, 0.5, 0.01, 0.15},
    {"span", "Mean length of a span", "Tokens that follow one another and are hidden together", Param::Kind::Real, 1,
     10, 0.5, 3},
}};

/// Cuts `total` into `parts` numbers of at least 1, all ways equally likely.
std::vector<size_t> cut(size_t total, size_t parts, Draws& draws) {
    std::vector<bool> begins(total - 1, false); // whether a part begins after each place
    std::fill_n(begins.begin(), parts - 1, true);
    for (size_t i = begins.size(); i > 1; --i) {
        const auto other = static_cast<size_t>(draws.below(static_cast<int>(i)));
        const bool kept = begins[i - 1];
        begins[i - 1] = begins[other];
        begins[other] = kept;
    }
    std::vector<size_t> lengths{1};
    for (const bool isNew : begins) {
        if (isNew) lengths.push_back(0);
        ++lengths.back();
    }
    return lengths;
}

/// How many tokens and spans of a piece are hidden.
struct Noise {
    size_t tokens, spans;

    explicit Noise(const TaskValues& values) {
        const double context = values.integer("context"), hidden = std::round(context * values.real("hidden"));
        tokens = static_cast<size_t>(std::clamp(hidden, 1.0, context - 1));
        const double most = std::min(static_cast<double>(tokens), context - static_cast<double>(tokens));
        spans = static_cast<size_t>(std::clamp(std::round(hidden / values.real("span")), 1.0, most));
    }
};

/// Pieces of a text whose sources hide spans. Training draws new pieces and spans each time; validation reads the last
/// tenth of the text in consecutive pieces, whose spans are always the same. Test is the same as validation.
class CorruptedText : public TaskInstance {
public:
    /// @param specials of the vocabulary, in order; the last one ends and begins each target
    CorruptedText(TextCorpus corpus, std::string_view task, const TaskValues& values, uint64_t seed, int target,
                  int source)
        : TaskInstance(std::move(corpus.tokenizerJson), target, source), noise_(values), end_(*tokenizer().endId()),
          train_(std::move(corpus.train)), validation_(std::move(corpus.validation)),
          context_(static_cast<size_t>(values.integer("context"))), seed_(seed) {
        if (train_.size() >= context_ && validation_.size() >= context_) return;
        failParameter(task, "context",
                      fmt::format("{} is too long for a text with {} tokens for training and {} for validation",
                                  context_, train_.size(), validation_.size()),
                      "choose a shorter context or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        return questionsOf(*this, split, index * static_cast<uint64_t>(rows), rows);
    }

    Example example(Split split, uint64_t index) const override {
        const bool isTrain = split == Split::Train;
        Draws draws(isTrain ? seed_ : 0, index, isTrain ? 0 : 1);
        if (!isTrain && index >= *rowCount(split)) return {.prompt = {end_}, .answer = {}, .source = {end_}};
        const std::vector<int32_t>& tokens = isTrain ? train_ : validation_;
        const auto starts = static_cast<int>(tokens.size() - context_ + 1);
        const size_t begin = isTrain ? static_cast<size_t>(draws.below(starts)) : index * context_;
        Example example = corrupted(std::span(tokens).subspan(begin, context_), draws);
        example.prompt = {end_};
        example.answer.push_back(end_);
        return example;
    }

    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional<uint64_t>(validation_.size() / context_);
    }

protected:
    /// The source and the answer of a piece, without the last token of the answer.
    virtual Example corrupted(std::span<const int32_t> piece, Draws& draws) const = 0;

    const Noise noise_;
    const int32_t end_;

private:
    std::vector<int32_t> train_, validation_;
    size_t context_;
    uint64_t seed_;
};

// Span corruption -----------------------------------------------------------------------------------------------------

/// T5's sentinels and the token that ends a target.
std::vector<std::string> sentinels(size_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("<extra_id_{}>", i));
    names.emplace_back(kEndOfText);
    return names;
}

/// Each hidden span becomes one sentinel; the target names each sentinel and then the span.
class SpanCorruption : public CorruptedText {
public:
    static constexpr std::string_view kId = "span-corruption";
    SpanCorruption(const TaskValues& values, const TaskSettings& settings)
        : CorruptedText(readTextCorpus(kId, settings.data, sentinels(Noise(values).spans)), kId, values, settings.seed,
                        static_cast<int>(Noise(values).tokens + Noise(values).spans) + 1,
                        values.integer("context") - static_cast<int>(Noise(values).tokens - Noise(values).spans)) {}

private:
    Example corrupted(std::span<const int32_t> piece, Draws& draws) const override {
        const std::vector<size_t> hidden = cut(noise_.tokens, noise_.spans, draws),
                                  kept = cut(piece.size() - noise_.tokens, noise_.spans, draws);
        Example example;
        auto at = piece.begin();
        for (size_t span = 0; span < noise_.spans; ++span) {
            const int32_t sentinel = end_ - static_cast<int32_t>(noise_.spans - span);
            const auto take = [&](std::vector<int32_t>& to, size_t count) {
                to.insert(to.end(), at, at + static_cast<std::ptrdiff_t>(count));
                at += static_cast<std::ptrdiff_t>(count);
            };
            take(example.source, kept[span]);
            example.source.push_back(sentinel);
            example.answer.push_back(sentinel);
            take(example.answer, hidden[span]);
        }
        return example;
    }
};

// Denoising -----------------------------------------------------------------------------------------------------------

/// Each hidden span becomes one mask, whatever its length; the target is the whole piece.
class Denoising : public CorruptedText {
public:
    static constexpr std::string_view kId = "denoising";
    Denoising(const TaskValues& values, const TaskSettings& settings)
        : CorruptedText(readTextCorpus(kId, settings.data, {"<mask>", std::string(kEndOfText)}), kId, values,
                        settings.seed, values.integer("context") + 1,
                        values.integer("context") - static_cast<int>(Noise(values).tokens - Noise(values).spans)) {}

private:
    Example corrupted(std::span<const int32_t> piece, Draws& draws) const override {
        const std::vector<size_t> hidden = cut(noise_.tokens, noise_.spans, draws),
                                  kept = cut(piece.size() - noise_.tokens, noise_.spans, draws);
        Example example{.answer = {piece.begin(), piece.end()}};
        auto at = piece.begin();
        for (size_t span = 0; span < noise_.spans; ++span) {
            example.source.insert(example.source.end(), at, at + static_cast<std::ptrdiff_t>(kept[span]));
            example.source.push_back(end_ - 1);
            at += static_cast<std::ptrdiff_t>(kept[span] + hidden[span]);
        }
        return example;
    }
};

template <class Instance> std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Instance>(values, settings);
}

} // namespace

constinit const Task kSpanCorruptionTask{
    .id = SpanCorruption::kId,
    .title = "Span corruption",
    .summary = "Hides spans of your own text behind sentinels, and learns to write what each of them hides",
    .hint = "Watch the cross-attention: after a sentinel, the decoder looks at the same sentinel in the source and at "
            "the words around it.",
    .citation = "Raffel et al. 2020, arXiv:1910.10683, section 3.1.4",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of tokens",
    .successLevel = 0.5,
    .readsText = true,
    .hasSource = true,
    .splitsText = true,
    .make = make<SpanCorruption>,
};

constinit const Task kDenoisingTask{
    .id = Denoising::kId,
    .title = "Denoising",
    .summary = "Hides spans of your own text behind masks, and learns to write the whole text again",
    .hint = "Watch the cross-attention: it copies along a diagonal and bends where a mask hides several words.",
    .citation = "Lewis et al. 2020, arXiv:1910.13461, section 2.2 (text infilling)",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of tokens",
    .successLevel = 0.9,
    .readsText = true,
    .hasSource = true,
    .splitsText = true,
    .make = make<Denoising>,
};

} // namespace attn
