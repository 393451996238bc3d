#pragma once

#include "engine/attention/site_attention.h"
#include "engine/models/memory_source.h"
#include "engine/models/structure.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/task.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attn {

/// Returns the dense values of a parameter, by the engine's name.
using ReadParameter = std::function<std::vector<float>(const std::string& parameter)>;
/// Reads a parameter as ModelSource::read() does.
using ReadStored = std::function<void(const std::string& parameter, const Shape& shape, const RowWriter& write)>;

/// A model and a task to train it on, as a graph that computes logits for each target. The trainer adds loss, gradient
/// and update. Each kind of model has a file of its own.
class Objective {
public:
    virtual ~Objective() = default;

    /// The graph of a forward pass.
    struct Forward {
        std::shared_ptr<Graph> graph;
        Tensor logits;                 ///< [rows * targetsPerRow(), choices]
        Tensor classes;                ///< [rows, classes], if rows also have a class; null: they have none
        std::vector<NodeRange> blocks; ///< the nodes of each layer
        PartTensors partTensors;       ///< those of the layers' parts, and constants of the model
        Tensor segmentLogits{};        ///< see ModelGraph::segmentLogits
    };
    /// Builds the graph. @param rows examples per batch  @param windowDivisor as MaskExpression::narrowed()
    virtual Forward forward(int rows, double dropout, int64_t windowDivisor = 1) const = 0;
    /// Whether masks have windows, which can grow while the model trains.
    virtual bool hasWindows() const = 0;
    virtual const ModelStructure& structure() const = 0;
    /// The number of targets in a row, at least Batch::columns.
    virtual int64_t targetsPerRow() const = 0;
    /// Rows for training, or for measuring the loss.
    virtual Batch batch(Split split, uint64_t index, int rows) const = 0;
    /// Rows that ask for whole answers. An answer is right if every target is the most likely token.
    virtual Batch questions(Split split, uint64_t first, int rows) const = 0;
    /// The number of rows in a split; no value if they are endless.
    virtual std::optional<uint64_t> rowCount(Split split) const = 0;
    /// Writes a batch to the graph's inputs, except targets and gates, which the trainer writes.
    virtual void fill(GpuExecutor& executor, const Batch& batch) const = 0;

    /// Whether a parameter has rows, of tokens or classes, that the model from which training starts lacks.
    virtual bool isNew(const std::string& parameter) const = 0;
    /// The values with which training starts. @param fresh initial values of a new model
    virtual std::vector<float> startOf(const std::string& parameter, const Shape& shape,
                                       std::vector<float> fresh) const = 0;

    /// Of a model that starts with another attention: which parameters are the starting model's, which are new and
    /// which have no place, in a sentence for people. Empty for others.
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

} // namespace attn
