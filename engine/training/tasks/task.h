#pragma once

#include "engine/core/param.h"
#include "engine/text/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Which examples: those trained on, those that steer the run, those looked at once in the end. No example is in two of
/// them, whatever the seed: an example's own hash says where it belongs.
enum class Split { Train, Validation, Test };

/// Rows of token ids. targets[i] is the token that should follow inputs[i]; kIgnored where nothing is asked. Of
/// pictures: one target a row, its class, and patches in place of the inputs.
struct Batch {
    static constexpr int32_t kIgnored = -1;

    int rows = 0, columns = 0;
    std::vector<int32_t> inputs{}, targets{}; ///< [rows, columns]
    std::vector<float> patches{};             ///< [rows, patches, numbers of a patch]
    bool operator==(const Batch&) const = default;
};

/// A question for greedy generation: exact match means that the next answer.size() tokens are the answer.
struct Example {
    std::vector<int32_t> prompt{}, answer{};
    bool operator==(const Example&) const = default;
};

/// What a person chose for a task; values that are not named keep their defaults.
struct TaskSettings {
    std::map<std::string, double, std::less<>> values{}; ///< by Param::id
    uint64_t seed = 0;                                   ///< picks the examples, never the split
    std::filesystem::path text{};                        ///< for tasks that read a text
    std::string tokens = "chars";                        ///< for these: "chars", "bytes" or "bpe:N" with N merges
    std::filesystem::path data{};                        ///< folder, for tasks that read pictures
    bool operator==(const TaskSettings&) const = default;
};

/// A task with its parameters settled: an endless, repeatable source of batches. Calls are const, depend on nothing but
/// their arguments, and may come from several threads.
class TaskInstance {
public:
    virtual ~TaskInstance() = default;

    /// The ids' texts, for labels on heads and for prompts that a person types.
    const Tokenizer& tokenizer() const { return tokenizer_; }
    /// tokenizer.json for the checkpoint; Hugging Face's library gives the same ids.
    const std::string& tokenizerJson() const { return tokenizerJson_; }
    int vocabularySize() const { return tokenizer_.vocabularySize(); }
    /// Columns of every batch.
    int contextLength() const { return contextLength_; }

    /// The same index and row count give the same batch.
    /// @throws Error if rows < 1
    virtual Batch batch(Split split, uint64_t index, int rows) const = 0;
    /// Prompt and answer together have at most contextLength() + 1 tokens.
    virtual Example example(Split split, uint64_t index) const = 0;
    /// How many rows the split has where it is finite and batches walk through it in order (rows beyond the end ask
    /// nothing); none where examples never end.
    virtual std::optional<uint64_t> rowCount(Split) const { return std::nullopt; }

protected:
    TaskInstance(std::string tokenizerJson, int contextLength)
        : tokenizerJson_(std::move(tokenizerJson)), tokenizer_(Tokenizer::fromJson(tokenizerJson_)),
          contextLength_(contextLength) {}

    static void requireRows(int rows);

private:
    std::string tokenizerJson_;
    Tokenizer tokenizer_;
    int contextLength_;
};

/// Parameter values after the check: every parameter is present and in range.
class TaskValues {
public:
    explicit TaskValues(std::map<std::string, double, std::less<>> values) : values_(std::move(values)) {}
    int integer(std::string_view id) const { return static_cast<int>(values_.find(id)->second); }
    double real(std::string_view id) const { return values_.find(id)->second; }
    bool flag(std::string_view id) const { return values_.find(id)->second != 0; }

private:
    std::map<std::string, double, std::less<>> values_;
};

class ImageTaskInstance;

/// A row of the catalogue.
struct Task {
    enum class Metric {
        ExactMatch, ///< share of examples whose whole answer is generated; success is at or above the level
        Loss        ///< mean cross-entropy of the validation split in nats; success is at or below the level
    };

    std::string_view id;      ///< "sort"
    std::string_view title;   ///< "Sort"
    std::string_view summary; ///< what is asked, with an example
    std::string_view hint;    ///< what to look for in the heads
    std::string_view citation{};
    std::span<const Param> params{};
    Metric metric = Metric::ExactMatch;
    std::string_view metricName = "exact match";
    double successLevel = 0.99;
    bool readsText = false; ///< needs TaskSettings::text
    bool readsData = false; ///< needs TaskSettings::data
    std::unique_ptr<TaskInstance> (*make)(const TaskValues& values, const TaskSettings& settings) = nullptr;
    /// Of tasks over pictures, in place of `make`.
    std::unique_ptr<ImageTaskInstance> (*makeImages)(const TaskValues& values, const TaskSettings& settings) = nullptr;

    bool hasImages() const { return makeImages != nullptr; }
};

/// Of a task over sequences. @throws Error naming the parameter and its range
std::unique_ptr<TaskInstance> makeTask(const Task& task, const TaskSettings& settings = {});
/// Of a task over pictures. @throws Error likewise, and where the pictures cannot be read
std::unique_ptr<ImageTaskInstance> makeImageTask(const Task& task, const TaskSettings& settings = {});

/// The error of a parameter that does not fit another one, for use by makers.
[[noreturn]] void failParameter(std::string_view task, std::string_view parameter, std::string what, std::string hint);

} // namespace attn
