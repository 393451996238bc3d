#pragma once

#include "engine/attention/composed_attention.h"
#include "engine/models/memory_source.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/training/recipe.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attn {

/// Dense values of one of the engine's parameters.
using ReadParameter = std::function<std::vector<float>(const std::string& parameter)>;
/// As ModelSource::read.
using ReadStored = std::function<void(const std::string& parameter, const Shape& shape, const RowWriter& write)>;

/// What a run trains: a model on a task, as a graph that ends in logits for each target. The trainer adds the loss, the
/// gradient and the update. One kind of model, one file.
class Objective {
public:
    virtual ~Objective() = default;

    struct Forward {
        std::shared_ptr<Graph> graph;
        Tensor logits;                 ///< [rows targetsPerRow, choices]
        std::vector<NodeRange> blocks; ///< the nodes of each
        ComposedNeeds composed;        ///< also constants of the model itself
    };
    /// @param rows examples of a batch
    virtual Forward forward(int rows, double dropout) const = 0;
    virtual const std::vector<LayerAttention>& layers() const = 0;
    /// At least Batch::columns.
    virtual int64_t targetsPerRow() const = 0;
    /// Rows that are trained on, or on which the loss is measured.
    virtual Batch batch(Split split, uint64_t index, int rows) const = 0;
    /// Rows that ask for whole answers: one is right where every target is the likeliest.
    virtual Batch questions(Split split, uint64_t first, int rows) const = 0;
    virtual std::optional<uint64_t> rowCount(Split split) const = 0;
    /// Writes a batch into the graph's inputs; the trainer writes targets and gates.
    virtual void fill(GpuExecutor& executor, const Batch& batch) const = 0;

    /// Writes the model as a folder that opens in the program and elsewhere. @throws Error naming the file and why
    virtual void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const = 0;
    /// Reads a folder that writeModel() wrote. @throws Error naming the file, the thing and the remedy
    virtual ReadStored openModel(const std::filesystem::path& folder) const = 0;
    /// What the weights of every moment belong to.
    virtual std::shared_ptr<const WeightSet::Model> describe() const = 0;
};

} // namespace attn
