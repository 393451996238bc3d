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

    Forward forward(int rows, double dropout) const override { return forwardOf(rows, columns_, sources_, dropout); }
    /// The graph for sequences of another length. @param columns a multiple of 8  @param sources tokens of a source
    Forward forwardOf(int rows, int64_t columns, int64_t sources, double dropout) const;
    const ModelStructure& structure() const override { return structure_; }
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
    int64_t columns_ = 0, sources_ = 0; ///< columns of a batch, padded to a multiple of 4 for attention
    DecoderConfig config_;
    DecoderConfig written_; ///< as the files of a model say it
    ModelStructure structure_;
};

} // namespace attn
