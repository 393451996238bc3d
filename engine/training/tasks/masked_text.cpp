#include "engine/data/draws.h"
#include "engine/data/word_pieces.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::string_view kId = "masked-text", kPermutedId = "permutation-lm";

constexpr Param kContext{
    "context", "Context", "Number of tokens per row, a multiple of 8", Param::Kind::Integer, 16, 512, 8, 64};
constexpr std::array kParams{kContext, kVocabularyParam,
                             Param{"hidden", "Hidden share", "Share of the tokens of a row that the model must fill in",
                                   Param::Kind::Real, 0.01, 0.9, 0.01, 0.15}};
constexpr std::array kPermutedParams{kContext, kVocabularyParam,
                                     Param{"parts", "Parts",
                                           "One in so many tokens is predicted: the last ones of the order",
                                           Param::Kind::Integer, 2, 20, 1, 6}};

/// Rows are windows of the text between BERT's first token and separator. Some of their tokens are hidden, and only
/// these are targets. Training draws new windows and hidden tokens each time (dynamic masking). Validation reads the
/// last tenth of the text in consecutive windows, whose hidden tokens are always the same. Test is the same as
/// validation.
class HiddenText : public TaskInstance {
public:
    /// @param share of the tokens of a window that are hidden
    HiddenText(std::string_view task, TextCorpus corpus, const TaskValues& values, double share, uint64_t seed)
        : TaskInstance(std::move(corpus.tokenizerJson), values.integer("context")), mask_(*tokenizer().maskId()),
          train_(std::move(corpus.train)), validation_(std::move(corpus.validation)), hidden_(share), seed_(seed),
          first_(*tokenizer().beginId()), separator_(*tokenizer().endId()) {
        if (contextLength() % 8 != 0)
            failParameter(task, "context", fmt::format("{} is not a multiple of 8", contextLength()),
                          fmt::format("choose {}", (contextLength() + 7) / 8 * 8));
        if (train_.size() >= window() && validation_.size() >= window()) return;
        failParameter(task, "context",
                      fmt::format("{} is too long for a text with {} tokens for training and {} for validation",
                                  contextLength(), train_.size(), validation_.size()),
                      "choose a shorter context or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        Batch batch;
        for (int row = 0; row < rows; ++row) {
            Row masked = rowAt(split, index * static_cast<uint64_t>(rows) + static_cast<uint64_t>(row));
            Batch one{.rows = 1};
            one[Batch::kInputs] = std::move(masked.inputs);
            one[Batch::kTargets] = std::move(masked.targets);
            if (!masked.ranks.empty()) one[Batch::kRanks] = std::move(masked.ranks);
            batch.append(one);
        }
        return batch;
    }

    /// A row with its hidden tokens in order.
    Example example(Split split, uint64_t index) const override {
        Row row = rowAt(split, split == Split::Train ? index : index % windowCount());
        showHidden(row);
        std::erase(row.targets, Batch::kIgnored);
        return {.prompt = std::move(row.inputs), .answer = std::move(row.targets)};
    }

    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional(windowCount());
    }

protected:
    struct Row {
        std::vector<int32_t> inputs, targets, ranks{};
    };
    /// Hides tokens. @param places of the tokens of the text, in random order; the first `count` are hidden and targets
    virtual void hide(Row& row, std::span<const size_t> places, size_t count, Draws& draws) const = 0;
    /// Changes the inputs of a row to what a person should see of it.
    virtual void showHidden(Row&) const {}

    const int32_t mask_;

private:
    size_t window() const { return static_cast<size_t>(contextLength()) - 2; }
    uint64_t windowCount() const { return validation_.size() / window(); }

    Row rowAt(Split split, uint64_t index) const {
        const bool isTrain = split == Split::Train;
        Row row{.inputs = std::vector<int32_t>(static_cast<size_t>(contextLength()), first_),
                .targets = std::vector<int32_t>(static_cast<size_t>(contextLength()), Batch::kIgnored)};
        Draws draws(isTrain ? seed_ : 0, index, isTrain ? 0 : 1);
        if (!isTrain && index >= windowCount()) { // beyond the end: no targets
            hide(row, {}, 0, draws);
            return row;
        }
        const std::vector<int32_t>& tokens = isTrain ? train_ : validation_;
        const size_t begin = isTrain ? static_cast<size_t>(draws.below(static_cast<int>(tokens.size() - window() + 1)))
                                     : index * window();
        std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(begin), window(), row.inputs.begin() + 1);
        row.inputs.back() = separator_;
        std::vector<size_t> places(window());
        for (size_t i = 0; i < places.size(); ++i) places[i] = i + 1;
        draws.shuffle(std::span(places));
        const double share = hidden_ * static_cast<double>(window());
        const auto count = static_cast<size_t>(std::clamp(share + 0.5, 1.0, static_cast<double>(window())));
        for (size_t i = 0; i < count; ++i) row.targets[places[i]] = row.inputs[places[i]];
        hide(row, places, count, draws);
        return row;
    }

    std::vector<int32_t> train_, validation_;
    double hidden_;
    uint64_t seed_;
    int32_t first_, separator_;
};

class MaskedText : public HiddenText {
public:
    MaskedText(const TaskValues& values, const TaskSettings& settings)
        : HiddenText(kId, readWordPieces(kId, settings.data, values.integer("vocabulary")), values,
                     values.real("hidden"), settings.seed) {}

private:
    void hide(Row& row, std::span<const size_t> places, size_t count, Draws& draws) const override {
        for (const size_t place : places.first(count))
            row.inputs[place] = hiddenToken(row.inputs[place], mask_, vocabularySize(), draws);
    }
};

/// Each row has an order in which its tokens are predicted; a token sees those before it in this order. The tokens
/// around the text come first, and only the last part of the order is predicted. Inputs hide nothing.
class PermutedText : public HiddenText {
public:
    PermutedText(const TaskValues& values, const TaskSettings& settings)
        : HiddenText(kPermutedId, readWordPieces(kPermutedId, settings.data, values.integer("vocabulary")), values,
                     1.0 / values.integer("parts"), settings.seed) {}

private:
    void hide(Row& row, std::span<const size_t> places, size_t, Draws&) const override {
        row.ranks.assign(row.inputs.size(), 0);
        for (size_t i = 0; i < places.size(); ++i) row.ranks[places[i]] = static_cast<int32_t>(places.size() - i);
    }
    void showHidden(Row& row) const override {
        for (size_t place = 0; place < row.inputs.size(); ++place)
            if (row.targets[place] != Batch::kIgnored) row.inputs[place] = mask_;
    }
};

template <class Instance> std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Instance>(values, settings);
}

} // namespace

constinit const Task kMaskedTextTask{
    .id = kId,
    .title = "Masked text",
    .summary = "Learns to fill in hidden words of your own text, from the words on both sides: \"the [MASK] barked\"",
    .hint =
        "Watch: rows of a head reach to both sides of the diagonal. Early in training, heads look at neighbours; later "
        "a hidden word looks at the words that decide it.",
    .citation = "Devlin et al. 2019, arXiv:1810.04805, section 3.1; Liu et al. 2019, arXiv:1907.11692, section 4.1 "
                "(dynamic masking)",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of hidden tokens",
    .successLevel = 0.5,
    .readsText = true,
    .readout = TextReadout::MaskedToken,
    .make = make<MaskedText>,
};

constinit const Task kPermutedTextTask{
    .id = kPermutedId,
    .title = "Permuted text",
    .summary =
        "Learns to predict the words of your own text in a random order, each from those before it in this order",
    .hint = "Watch: in training, every row sees another set of words. Two streams share the parameters: the content "
            "knows its own word, and the query, which predicts it, only the place.",
    .citation = "Yang et al. 2019, arXiv:1906.08237, sections 2.2 and 2.3",
    .params = kPermutedParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of hidden tokens",
    .successLevel = 0.4,
    .readsText = true,
    .readout = TextReadout::MaskedToken,
    .permutes = true,
    .make = make<PermutedText>,
};

} // namespace attn
