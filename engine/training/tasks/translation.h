#pragma once

#include "engine/data/draws.h"
#include "engine/data/parallel_text.h"
#include "engine/data/tokenizer_json.h"
#include "engine/training/tasks/task.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Where the pairs of a translation come from. Calls are const and thread-safe.
class PairSource {
public:
    virtual ~PairSource() = default;
    /// A pair of a split. @param attempt draws another pair where there are endlessly many
    virtual TextPair at(Split split, uint64_t index, uint32_t attempt) const = 0;
    /// The number of pairs in a finite split; none: the split is endless.
    virtual std::optional<uint64_t> count(Split split) const = 0;
};

/// An encoder reads a text, and a decoder writes its translation. Both languages share a vocabulary. A special token
/// begins and ends each target and pads rows.
class Translation : public TaskInstance {
public:
    /// Measures the pairs of the training split with the vocabulary.
    /// @param longest tokens of a source and of a target; longer pairs are left out
    /// @param isReversed whether the tokens of a source come in reverse order
    static std::unique_ptr<TaskInstance> make(std::unique_ptr<const PairSource> pairs, std::string tokenizerJson,
                                              int longest, bool isReversed);

    Batch batch(Split split, uint64_t index, int rows) const override;
    Example example(Split split, uint64_t index) const override;
    std::optional<uint64_t> rowCount(Split split) const override { return pairs_->count(split); }
    std::string subtaskOf(const Example& example) const override;

private:
    Translation(std::unique_ptr<const PairSource> pairs, std::string tokenizerJson, int longestTarget,
                int longestSource, bool isReversed)
        : TaskInstance(std::move(tokenizerJson), longestTarget, longestSource), pairs_(std::move(pairs)),
          isReversed_(isReversed), end_(*tokenizer().endId()) {}

    std::unique_ptr<const PairSource> pairs_;
    bool isReversed_;
    int32_t end_;
};

/// The languages of numbers and dates: {"de", "German"}, by code.
std::vector<std::pair<std::string, std::string>> spelledLanguages();

/// "en" and "de" of "en-de". @throws Error if it is not written so
std::pair<std::string, std::string> languagePair(std::string_view task, const std::string& languages);

} // namespace attn
