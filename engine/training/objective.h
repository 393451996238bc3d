#pragma once

#include "engine/attention/site_attention.h"
#include "engine/models/memory_source.h"
#include "engine/models/structure.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/training/named_loss.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/task.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Returns the dense values of a parameter, by the engine's name.
using ReadParameter = std::function<std::vector<float>(const std::string& parameter)>;
/// Reads a parameter as ModelSource::read() does.
using ReadStored = std::function<void(const std::string& parameter, const Shape& shape, const RowWriter& write)>;

/// How well a model does on examples.
struct Evaluation {
    double loss = 0;   ///< mean over the targets, in nats, summed over the losses with their weights
    double metric = 0; ///< by Task::metric
    int64_t examples = 0;
    std::map<std::string, double> shares{}; ///< and means of losses that have no choices, by NamedLoss::metric
    std::vector<int64_t> confusion{};       ///< for pictures with classes: [right class, predicted class]
    struct Matches {
        int64_t right = 0, examples = 0;
        double share() const { return static_cast<double>(right) / static_cast<double>(examples); }
    };
    std::map<std::string, Matches> subtasks{}; ///< exact matches by TaskInstance::subtaskOf()
};

/// The results of a model on a batch. Valid until it reads the next one.
class Said {
public:
    explicit Said(const GpuExecutor& executor) : executor_(&executor) {}
    /// The losses of each row of a loss's logits.
    std::span<const float> losses(std::string_view loss) const;
    /// The most probable choice in a row of logits, of a loss that has choices, unless choose() has set it.
    int32_t best(std::string_view loss, int64_t row) const;
    /// A row of the predictions of a loss that reads numbers. @param width its numbers
    std::span<const float> numbers(std::string_view loss, int64_t row, int64_t width) const;
    /// Sets the choices that best() gives of a loss, one for each row of its logits.
    void choose(std::string_view loss, std::vector<int32_t> choices) {
        chosen_.insert_or_assign(std::string(loss), std::move(choices));
    }
    /// A further result: see Objective::views().
    std::span<const float> view(const std::string& name) const { return executor_->result(name); }

    static std::string nameOfLosses(std::string_view loss);
    static std::string nameOfBest(std::string_view loss);
    static std::string nameOfNumbers(std::string_view loss);

private:
    const GpuExecutor* executor_;
    std::map<std::string, std::vector<int32_t>, std::less<>> chosen_;
};

/// A model and a task to train it on, as a graph that computes the logits of named losses. The trainer adds losses,
/// gradient and update. Each kind of model has a file of its own.
class Objective {
public:
    virtual ~Objective() = default;

    /// The graph of a forward pass.
    struct Forward {
        std::shared_ptr<Graph> graph;
        std::vector<NamedLoss> losses; ///< the first is that of Batch::kTargets, which every task has
        std::vector<NodeRange> blocks; ///< the nodes of each layer
        PartTensors partTensors;       ///< tensors of the layers' parts, and constants of the model
        /// Writes to states, by the states' names: each row begins with what the same row of the batch before left, and
        /// zeros at first. The objective clears a row that begins another text.
        std::vector<std::pair<std::string, Tensor>> updates{};
    };
    /// Builds the graph. @param rows examples per batch  @param windowDivisor as MaskExpression::narrowed()
    virtual Forward forward(int rows, double dropout, int64_t windowDivisor = 1) const = 0;
    /// Whether masks have windows, which can grow while the model trains.
    virtual bool hasWindows() const = 0;
    virtual const ModelStructure& structure() const = 0;
    /// Rows for training, or for measuring the loss.
    virtual Batch batch(Split split, uint64_t index, int rows) const = 0;
    /// Rows that ask for whole answers. An answer is right if every target is the most probable token.
    virtual Batch questions(Split split, uint64_t first, int rows) const = 0;
    /// The number of rows in a split; none if they are endless.
    virtual std::optional<uint64_t> rowCount(Split split) const = 0;
    /// The number of examples that an evaluation must read at once, since they are compared with one another; none:
    /// any.
    virtual std::optional<int> rowsTogether(const Recipe&) const { return std::nullopt; }
    /// Further results of an evaluation, by name.
    virtual std::map<std::string, Tensor> views(const Forward&) const { return {}; }
    /// Makes the choices that depend on each other, such as the first and the last token of an answer.
    virtual void choose(Said&, const Batch&) const {}
    /// Adds what losses do not say to an evaluation. @param row of the batch  @param index of its example
    /// @param isRight whether all targets of the row were the most probable choices
    virtual void addTo(Evaluation&, Split, const Batch&, const Said&, int64_t /*row*/, uint64_t /*index*/,
                       bool /*isRight*/) const {}
    /// Writes a batch to the graph's inputs, except targets and gates, which the trainer writes.
    virtual void fill(GpuExecutor& executor, const Batch& batch) const = 0;

    /// Whether a parameter belongs to another model, which lies under a prefix in the same store, such as a teacher.
    /// Training reads it and neither changes nor writes it; startOf() gives its values, also when a run resumes.
    virtual bool isOther(const std::string& /*parameter*/) const { return false; }
    /// Whether a parameter has rows, of tokens or classes, that the model from which training starts lacks.
    virtual bool isNew(const std::string& parameter) const = 0;
    /// The values with which training starts. @param fresh initial values of a new model
    virtual std::vector<float> startOf(const std::string& parameter, const Shape& shape,
                                       std::vector<float> fresh) const = 0;

    /// For a model that starts with another attention, a sentence for people: which parameters are the starting
    /// model's, which are new and which have no place. Empty for others.
    virtual std::string startSentence() const = 0;

    /// Writes the model as a folder that this and other programs can open. @throws Error naming the file and the reason
    virtual void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const = 0;
    /// Where writeModel() puts a parameter. @return none if only this program reads the format
    virtual std::optional<WeightRecipe> placeOf(const std::string& parameter) const = 0;
    /// Reads a folder that writeModel() wrote. @throws Error naming the file, the problem and the remedy
    virtual ReadStored openModel(const std::filesystem::path& folder) const = 0;
    /// The description of the model that all checkpoints share.
    virtual std::shared_ptr<const WeightSet::Model> describe() const = 0;
};

/// The same model with narrower windows of its masks. @param divisor as MaskExpression::narrowed()
ModelSpec narrowed(ModelSpec config, int64_t divisor);
/// Reads a folder that Objective::writeModel() wrote. @param activation of what the model says
/// @throws Error as Objective::openModel()
ReadStored openWritten(const std::filesystem::path& folder, ClassActivation activation);

/// The objective of a recipe, which gets the hash and the architecture of the model from which training starts.
/// @throws Error as check(), makeTask() and makeImageTask(), or if the model cannot learn the task
std::unique_ptr<Objective> makeObjective(Recipe& recipe);

using MakeObjective = std::function<std::unique_ptr<Objective>(Recipe& recipe)>;

} // namespace attn
