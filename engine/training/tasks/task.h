#pragma once

#include "engine/attention/mask/segments.h"
#include "engine/core/param_values.h"
#include "engine/data/labelled_rows.h"
#include "engine/data/split.h"
#include "engine/models/class_activation.h"
#include "engine/models/text_readout.h"
#include "engine/models/written_picture.h"
#include "engine/text/tokenizer.h"
#include "engine/training/tasks/batch.h"
#include "engine/training/tasks/task_settings.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A question for greedy generation. For an exact match, the next answer.size() tokens must be the answer. If the task
/// masks tokens, the answer is what the prompt hides. If it has a source, the prompt is the token that begins a target.
/// If it asks for classes or for a span, the answer holds the targets of its row; if it also hides tokens, the class
/// comes first.
struct Example {
    std::vector<int32_t> prompt{}, answer{}, source{};
    std::vector<int32_t> parents{}; ///< of the prompt's words; empty: it has no tree of its own
    /// Of a task that asks for several labels or for numbers, in place of an answer: 1 or 0, or a number, for each.
    std::vector<float> numbers{};
    bool operator==(const Example&) const = default;
};

/// A task with fixed parameters: a repeatable source of batches. Results of calls depend only on their arguments. Calls
/// are const and thread-safe.
class TaskInstance {
public:
    virtual ~TaskInstance() = default;

    /// The tokenizer, for labels and for prompts that a person types.
    const Tokenizer& tokenizer() const { return tokenizer_; }
    /// tokenizer.json for checkpoints. Hugging Face's library gives the same ids.
    const std::string& tokenizerJson() const { return tokenizerJson_; }
    int vocabularySize() const { return tokenizer_.vocabularySize(); }
    /// The number of columns of every batch.
    int contextLength() const { return contextLength_; }
    /// The number of columns of every batch's sources; 0: the task has none.
    int sourceLength() const { return sourceLength_; }

    /// A batch. The same index and number of rows give the same batch.
    /// @throws Error if rows < 1
    virtual Batch batch(Split split, uint64_t index, int rows) const = 0;
    /// An example. Prompt and answer together have at most contextLength() + 1 tokens.
    virtual Example example(Split split, uint64_t index) const = 0;
    /// The classes of a task that asks for them, in the order of their targets.
    virtual std::vector<std::string> labels() const { return {}; }
    /// How a picture is written, for a task whose texts are pictures. None for other tasks.
    virtual std::optional<WrittenPicture> picture() const { return std::nullopt; }
    /// The files of pictures that were read.
    virtual std::vector<std::filesystem::path> files() const { return {}; }
    /// Whether texts with a class also have hidden tokens.
    virtual bool hidesTokens() const { return false; }
    /// The name of the task that an example belongs to, if a file holds several; else empty.
    virtual std::string subtaskOf(const Example&) const { return {}; }
    /// An answer to an example, in words.
    virtual std::vector<std::string> answerTexts(const Example& example, std::span<const int32_t> answer) const;
    /// The number of rows in a finite split. Its batches run through it in order, and rows beyond the end have no
    /// targets. None: the split is endless.
    virtual std::optional<uint64_t> rowCount(Split) const { return std::nullopt; }

protected:
    TaskInstance(std::string tokenizerJson, int contextLength, int sourceLength = 0)
        : tokenizerJson_(std::move(tokenizerJson)), tokenizer_(Tokenizer::fromJson(tokenizerJson_)),
          contextLength_(contextLength), sourceLength_(sourceLength) {}

    static void requireRows(int rows);

private:
    std::string tokenizerJson_;
    Tokenizer tokenizer_;
    int contextLength_, sourceLength_;
};

/// A batch of examples whose targets are only the answers. Greedy generation gives an answer if and only if each of its
/// tokens is the most probable one after the tokens before it.
Batch questionsOf(const TaskInstance& task, Split split, uint64_t first, int rows);

/// A task's values, read by Param::id: every parameter is present and in range.
using TaskValues = ParamValues;

/// Makes an instance that needs a task's values and the seed.
template <class Instance>
std::unique_ptr<TaskInstance> makeSeeded(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Instance>(values, settings.seed);
}

class ImageTaskInstance;
struct Recipe;

/// A task in the catalogue.
struct Task {
    enum class Metric {
        ExactMatch, ///< share of examples with a right answer; successful at or above the level
        TokenMatch, ///< share of right targets; successful at or above the level
        /// Mean loss on the validation split: cross-entropy in nats, or squared error; successful at or below the
        /// level.
        Loss,
        Bits ///< the loss in bits: bits per dimension of a picture
    };

    std::string_view id;         ///< "sort"
    std::string_view title;      ///< "Sort"
    std::string_view summary;    ///< the question, with an example
    std::string_view hint;       ///< behaviour of heads to watch for
    std::string_view citation{}; ///< source of the task; empty: ours
    std::span<const Param> params{};
    Metric metric = Metric::ExactMatch;
    std::string_view metricName = "exact match";
    double successLevel = 0.99;
    bool readsText = false;                       ///< needs TaskSettings::text
    TextReadout readout = TextReadout::NextToken; ///< the meaning of targets
    /// The answers about a whole text or picture: one class, several labels, or numbers.
    ClassActivation activation = ClassActivation::Softmax;
    bool hasPrefix = false; ///< tokens before the first target see one another in both directions
    bool permutes = false;  ///< predicts hidden tokens in an order of its own, which needs a query stream
    /// For a task that hides whole segments of a text, each of which a second stream reads alone: the segments of every
    /// row. Null: the task hides none.
    Segments (*segments)(const TaskValues& values) = nullptr;
    bool readsData = false; ///< needs TaskSettings::data
    /// For a task that reads TaskSettings::data if it is given: the source of its examples otherwise. Empty for others.
    std::string_view withoutData{};
    bool hasSource = false;        ///< examples have a source, which an encoder reads
    bool splitsText = false;       ///< cuts the text as TaskSettings::tokens says
    bool readsLanguages = false;   ///< needs TaskSettings::languages
    bool readsTranslation = false; ///< reads TaskSettings::translation where it is given
    bool hasSubtasks = false;      ///< examples belong to tasks that a file names: TaskInstance::subtaskOf()
    std::unique_ptr<TaskInstance> (*make)(const TaskValues& values, const TaskSettings& settings) = nullptr;
    /// Replaces `make` for tasks with pictures.
    std::unique_ptr<ImageTaskInstance> (*makeImages)(const TaskValues& values, const TaskSettings& settings) = nullptr;
    /// Sets what the suggested recipe has in place of the usual settings for tasks of its kind; null: nothing.
    void (*suggest)(Recipe& recipe) = nullptr;

    bool hasImages() const { return makeImages != nullptr; }
    /// Whether the metric is a share, from 0 to 1, of what is right.
    bool measuresShare() const { return metric == Metric::ExactMatch || metric == Metric::TokenMatch; }
};

/// What the labels of a table are, for a task with these answers.
LabelKind labelKindOf(ClassActivation activation);
/// The segments of a task's rows; none if the task hides none. @throws Error naming the parameter and its range
Segments segmentsOf(const Task& task, const TaskSettings& settings);
/// Makes a task with sequences. @throws Error naming the parameter and its range
std::unique_ptr<TaskInstance> makeTask(const Task& task, const TaskSettings& settings = {});
/// Makes a task with pictures. @throws Error naming the parameter and its range, or if the pictures cannot be read
std::unique_ptr<ImageTaskInstance> makeImageTask(const Task& task, const TaskSettings& settings = {});

} // namespace attn
