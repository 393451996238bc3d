#pragma once

#include "engine/text/encoding.h"
#include "engine/training/tasks/task.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A row of a task that asks for classes or for a span.
struct ReadoutRow {
    std::vector<int32_t> tokens{}, types{}, targets{};
    std::vector<int32_t> parents{};     ///< see Batch::parents; empty: the text has no tree
    std::vector<float> numbers{};       ///< in place of targets: one for each label
    std::optional<int32_t> textClass{}; ///< if the targets are hidden tokens of a text with a class
};

/// A task whose examples are texts of different lengths with targets. Training draws examples at random; validation
/// reads its own in order, and test is the same.
class ReadoutTask : public TaskInstance {
public:
    Batch batch(Split split, uint64_t index, int rows) const final;
    Example example(Split split, uint64_t index) const final;
    std::optional<uint64_t> rowCount(Split split) const final;

protected:
    /// @param columns targets of a row; 0: they are numbers, one for each label
    ReadoutTask(std::string tokenizerJson, int context, int columns, uint64_t validationRows, uint64_t seed)
        : TaskInstance(std::move(tokenizerJson), context), columns_(columns), validationRows_(validationRows),
          seed_(seed) {}

    /// An example, of at most contextLength() tokens. @param index below the number of rows, in validation
    virtual ReadoutRow rowAt(Split split, uint64_t index) const = 0;
    uint64_t seed() const { return seed_; }

private:
    int columns_;
    uint64_t validationRows_;
    uint64_t seed_;
};

/// A ReadoutTask whose rows are known from the beginning.
class ListedReadoutTask : public ReadoutTask {
public:
    std::vector<std::string> labels() const override { return labels_; }

protected:
    struct Rows {
        std::string tokenizerJson;
        std::vector<ReadoutRow> train{}, validation{};
        std::vector<std::string> labels{};
    };
    ListedReadoutTask(Rows rows, int context, int columns, uint64_t seed)
        : ReadoutTask(std::move(rows.tokenizerJson), context, columns, rows.validation.size(), seed),
          train_(std::move(rows.train)), validation_(std::move(rows.validation)), labels_(std::move(rows.labels)) {}
    ReadoutRow rowAt(Split split, uint64_t index) const final;

private:
    std::vector<ReadoutRow> train_, validation_;
    std::vector<std::string> labels_;
};

/// Whether an example is for validation: a tenth of them, chosen by their text, so that equal ones are in one split.
bool isForValidation(std::string_view text);

/// Removes tokens from the end of the longer text until the tokens fit, as BERT does with pairs. The special tokens
/// around the texts stay; unknown and special tokens in a text are tokens of the text. Takes time in proportion to the
/// tokens. @param most number of tokens that remain
void shorten(Encoding& encoding, const Tokenizer& tokenizer, size_t most);

/// @throws Error that one of the splits has no examples
void requireBoth(std::string_view task, size_t train, size_t validation);
/// @throws Error if the first line with a word holds the names of columns
void requireNoNames(std::string_view task, std::string_view text);

} // namespace attn
