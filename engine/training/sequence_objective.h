#pragma once

#include "engine/training/objective.h"

namespace attn {

/// A decoder that continues sequences of tokens.
class SequenceObjective : public Objective {
public:
    /// @throws Error as check() and makeTask()
    explicit SequenceObjective(const Recipe& recipe);

    const TaskInstance& instance() const { return *instance_; }
    const DecoderConfig& config() const { return config_; }

    Forward forward(int rows, double dropout) const override { return forwardOf(rows, columns_, dropout); }
    /// The graph for sequences of another length. @param columns a multiple of 8
    Forward forwardOf(int rows, int64_t columns, double dropout) const;
    const std::vector<LayerAttention>& layers() const override { return config_.layers; }
    int64_t targetsPerRow() const override { return columns_; }
    Batch batch(Split split, uint64_t index, int rows) const override { return instance_->batch(split, index, rows); }
    Batch questions(Split split, uint64_t first, int rows) const override;
    std::optional<uint64_t> rowCount(Split split) const override { return instance_->rowCount(split); }
    void fill(GpuExecutor& executor, const Batch& batch) const override;
    void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const override;
    ReadStored openModel(const std::filesystem::path& folder) const override;
    std::shared_ptr<const WeightSet::Model> describe() const override;

private:
    std::unique_ptr<TaskInstance> instance_;
    int64_t columns_ = 0; ///< columns of a batch, padded to a multiple of 4 for attention
    DecoderConfig config_;
};

/// A batch of examples whose targets are only the answers. Greedy generation gives an answer if and only if each of its
/// tokens is the most likely one after the tokens before it.
Batch questionsOf(const TaskInstance& task, Split split, uint64_t first, int rows);

} // namespace attn
