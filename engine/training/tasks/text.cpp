#include "engine/data/draws.h"
#include "engine/data/reading_order.h"
#include "engine/data/text_corpus.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::string_view kId = "text", kPrefixId = "prefix-lm";

constexpr std::array<Param, 1> kParams{{
    {"context", "Context", "Number of tokens per row", Param::Kind::Integer, 2, 2048, 1, 64},
}};

/// Training draws random windows from the first 90 %, as nanoGPT does. Validation reads the rest in consecutive
/// windows, which makes the loss exact. Test is the same as validation.
class Text : public TaskInstance {
public:
    Text(std::string_view task, TextCorpus corpus, int context, const TaskSettings& settings)
        : TaskInstance(std::move(corpus.tokenizerJson), context), train_(std::move(corpus.train)),
          validation_(std::move(corpus.validation)), seed_(settings.seed), training_{.kind = ReadingOrder::Kind::Random,
                                                                                     .tokens = train_.size(),
                                                                                     .columns = columns(),
                                                                                     .seed = settings.seed},
          measuring_{.kind = ReadingOrder::Kind::Consecutive, .tokens = validation_.size(), .columns = columns()} {
        if (train_.size() > columns() && validation_.size() > 1) return;
        failParameter(task, "context",
                      fmt::format("{} is too long for a text with {} tokens for training and {} for validation",
                                  context, train_.size(), validation_.size()),
                      "choose a shorter context or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        const auto count = static_cast<size_t>(rows);
        Batch batch{.rows = rows};
        std::vector<int32_t>&inputs = batch[Batch::kInputs], &targets = batch[Batch::kTargets];
        inputs.assign(count * columns(), 0);
        targets.assign(count * columns(), Batch::kIgnored);
        for (size_t row = 0; row < count; ++row) {
            const std::span<const int32_t> tokens = window(split, index, count, row);
            for (size_t i = 0; i + 1 < tokens.size(); ++i) {
                inputs[row * columns() + i] = tokens[i];
                targets[row * columns() + i] = tokens[i + 1];
            }
        }
        return batch;
    }

    Example example(Split split, uint64_t index) const override {
        const auto tokens = window(split, split == Split::Train ? index : index % windowCount());
        const size_t half = tokens.size() / 2;
        return {.prompt = {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(half)},
                .answer = {tokens.begin() + static_cast<std::ptrdiff_t>(half), tokens.end()}};
    }

    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional(windowCount());
    }

protected:
    size_t columns() const { return static_cast<size_t>(contextLength()); }
    uint64_t windowCount() const { return (validation_.size() - 1 + columns() - 1) / columns(); }
    uint64_t seed() const { return seed_; }

    /// One token more than columns; fewer at the end of the text, none beyond.
    std::span<const int32_t> window(Split split, uint64_t index, uint64_t rows = 1, uint64_t row = 0) const {
        const std::span<const int32_t> tokens = split == Split::Train ? train_ : validation_;
        const size_t begin = (split == Split::Train ? training_ : measuring_).at(index, rows, row).begin;
        if (begin + 1 >= tokens.size()) return {};
        return tokens.subspan(begin, std::min(columns() + 1, tokens.size() - begin));
    }

private:
    std::vector<int32_t> train_, validation_;
    uint64_t seed_;
    ReadingOrder training_, measuring_;
};

/// The same windows, of which a first part is given: the prefix. It has from one token to all but one, all lengths
/// equally likely; in validation each window has always the same.
class PrefixText : public Text {
public:
    using Text::Text;

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        const uint64_t first = index * static_cast<uint64_t>(rows), end = rowCount(split).value_or(UINT64_MAX);
        Batch batch = questionsOf(*this, split, first, rows);
        std::vector<int32_t>& targets = batch[Batch::kTargets];
        for (size_t at = 0; at < targets.size(); ++at) // beyond the end there are no targets
            if (first + at / columns() >= end) targets[at] = Batch::kIgnored;
        return batch;
    }

    Example example(Split split, uint64_t index) const override {
        const bool isTrain = split == Split::Train;
        if (!isTrain) index %= windowCount();
        const auto tokens = window(split, index);
        Draws draws(isTrain ? seed() : 0, index, 1);
        const auto middle = tokens.begin() + draws.between(1, static_cast<int>(tokens.size()) - 1);
        return {.prompt = {tokens.begin(), middle}, .answer = {middle, tokens.end()}};
    }
};

template <class Instance, const std::string_view& kTask>
std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Instance>(kTask, readTextCorpus(kTask, settings.data), values.integer("context"), settings);
}

} // namespace

constinit const Task kTextTask{
    .id = kId,
    .title = "Text",
    .summary = "Learns to continue your own text, by characters, bytes or a vocabulary of frequent pieces",
    .hint =
        "Watch: early in training, heads attend to the last few tokens. Later some attend to the last place with the "
        "same name or word, or to the start of the line.",
    .citation = "Karpathy 2022, nanoGPT, github.com/karpathy/nanoGPT (windows, first 90 % to train; the level is for "
                "Shakespeare's characters)",
    .params = kParams,
    .metric = Task::Metric::Loss,
    .metricName = "validation loss",
    .successLevel = 1.92,
    .readsText = true,
    .splitsText = true,
    .make = make<Text, kId>,
};

constinit const Task kPrefixTextTask{
    .id = kPrefixId,
    .title = "Text after a prefix",
    .summary = "Learns to continue your own text after a prefix, which the model reads in both directions",
    .hint = "Watch: the columns of the prefix are lit for all of its rows, and the triangle begins where it ends.",
    .citation = "Liu et al. 2018, arXiv:1801.10198; Raffel et al. 2020, arXiv:1910.10683, section 3.2.1 (prefix LM)",
    .params = kParams,
    .metric = Task::Metric::Loss,
    .metricName = "validation loss",
    .successLevel = 2.0,
    .readsText = true,
    .hasPrefix = true,
    .splitsText = true,
    .make = make<PrefixText, kPrefixId>,
};

} // namespace attn
