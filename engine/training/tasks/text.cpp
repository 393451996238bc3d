#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/draws.h"
#include "engine/training/tasks/text_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::string_view kId = "text";

constexpr std::array<Param, 1> kParams{{
    {"context", "Context", "Number of tokens per row", Param::Kind::Integer, 2, 2048, 1, 64},
}};

/// Training draws random windows from the first 90 %, as nanoGPT does. Validation reads the rest in consecutive
/// windows, which makes the loss exact. Test is the same as validation.
class Text : public TaskInstance {
public:
    Text(TextCorpus corpus, int context, const TaskSettings& settings)
        : TaskInstance(std::move(corpus.tokenizerJson), context), train_(std::move(corpus.train)),
          validation_(std::move(corpus.validation)), seed_(settings.seed) {
        if (train_.size() > columns() && validation_.size() > 1) return;
        failParameter(kId, "context",
                      fmt::format("{} is too long for a text with {} tokens for training and {} for validation",
                                  context, train_.size(), validation_.size()),
                      "choose a shorter context or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        const auto count = static_cast<size_t>(rows);
        Batch batch{.rows = rows,
                    .columns = contextLength(),
                    .inputs = std::vector<int32_t>(count * columns(), 0),
                    .targets = std::vector<int32_t>(count * columns(), Batch::kIgnored)};
        for (size_t row = 0; row < count; ++row) {
            const std::span<const int32_t> tokens = window(split, index * count + row);
            for (size_t i = 0; i + 1 < tokens.size(); ++i) {
                batch.inputs[row * columns() + i] = tokens[i];
                batch.targets[row * columns() + i] = tokens[i + 1];
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

private:
    size_t columns() const { return static_cast<size_t>(contextLength()); }
    uint64_t windowCount() const { return (validation_.size() - 1 + columns() - 1) / columns(); }

    /// One token more than columns; fewer at the end of the text, none beyond.
    std::span<const int32_t> window(Split split, uint64_t index) const {
        const std::span<const int32_t> tokens = split == Split::Train ? train_ : validation_;
        size_t begin = index * columns();
        if (split == Split::Train) {
            const auto starts = static_cast<int>(train_.size() - columns());
            begin = static_cast<size_t>(Draws(seed_, index, 0).below(starts));
        }
        if (begin + 1 >= tokens.size()) return {};
        return tokens.subspan(begin, std::min(columns() + 1, tokens.size() - begin));
    }

    std::vector<int32_t> train_, validation_;
    uint64_t seed_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Text>(readTextCorpus(kId, settings), values.integer("context"), settings);
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
    .make = make,
};

} // namespace attn
