#pragma once

#include "engine/models/vision_config.h"
#include "engine/training/objective.h"
#include "engine/training/tasks/image_task.h"

namespace attn {

/// A vision transformer that classifies pictures.
class ImageObjective : public Objective {
public:
    /// @throws Error as check() and makeImageTask()
    explicit ImageObjective(const Recipe& recipe);

    const ImageTaskInstance& instance() const { return *instance_; }
    const VisionConfig& config() const { return config_; }

    Forward forward(int rows, double dropout) const override;
    const ModelStructure& structure() const override { return structure_; }
    int64_t targetsPerRow() const override { return 1; }
    /// Training pictures are augmented with the settings of the task. Others are not changed.
    Batch batch(Split split, uint64_t index, int rows) const override;
    Batch questions(Split split, uint64_t first, int rows) const override;
    std::optional<uint64_t> rowCount(Split split) const override { return instance_->rowCount(split); }
    void fill(GpuExecutor& executor, const Batch& batch) const override;
    void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const override;
    ReadStored openModel(const std::filesystem::path& folder) const override;
    std::shared_ptr<const WeightSet::Model> describe() const override;

private:
    void add(Batch& batch, const LabelledImage& example) const;

    std::unique_ptr<ImageTaskInstance> instance_;
    VisionConfig config_;
    ModelStructure structure_;
};

/// The description of a model for a task. @throws Error as check()
VisionConfig visionOf(const Architecture& architecture, const ImageTaskInstance& task);

} // namespace attn
