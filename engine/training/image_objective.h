#pragma once

#include "engine/models/model_spec.h"
#include "engine/training/composed_start.h"
#include "engine/training/objective.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/image_task.h"

namespace attn {

/// A vision transformer that says a class of a picture, several labels, or numbers.
class ImageObjective : public Objective {
public:
    /// @param start the model to train further, if there is one
    /// @throws Error as check() and makeImageTask(), or if the model cannot learn the task
    explicit ImageObjective(const Recipe& recipe, std::optional<StartingModel> start = {});

    const ImageTaskInstance& instance() const { return *instance_; }
    const ModelSpec& config() const { return config_; }

    Forward forward(int rows, double dropout, int64_t windowDivisor = 1) const override;
    bool hasWindows() const override;
    const ModelStructure& structure() const override { return structure_; }
    /// Training pictures are augmented with the settings of the task. Others are not changed.
    Batch batch(Split split, uint64_t index, int rows) const override;
    Batch questions(Split split, uint64_t first, int rows) const override;
    std::optional<uint64_t> rowCount(Split split) const override { return instance_->rowCount(split); }
    static constexpr const char* kSaid = "said";                 ///< the view of what the model says: see saidOf()
    std::string rightAnswer(const LabelledImage& example) const; ///< in words
    std::map<std::string, Tensor> views(const Forward& forward) const override;
    void addTo(Evaluation& evaluation, Split split, const Batch& batch, const Said& said, int64_t row, uint64_t index,
               bool isRight) const override;
    void fill(GpuExecutor& executor, const Batch& batch) const override;
    bool isNew(const std::string& parameter) const override;
    std::string startSentence() const override { return parameters_.sentence(structure_.blocks()); }
    std::vector<float> startOf(const std::string& parameter, const Shape& shape,
                               std::vector<float> fresh) const override;
    void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const override;
    std::optional<WeightRecipe> placeOf(const std::string& parameter) const override;
    ReadStored openModel(const std::filesystem::path& folder) const override;
    std::shared_ptr<const WeightSet::Model> describe() const override;

private:
    void fitTo(const StartingModel& start, const Architecture& architecture, ClassActivation activation);
    void add(Batch& batch, const LabelledImage& example) const;
    void addTargets(Batch& batch, int32_t label, std::span<const float> numbers) const;

    std::unique_ptr<ImageTaskInstance> instance_;
    std::optional<StartingModel> start_;
    StartingParameters parameters_; ///< of the starting model
    NewRows classes_;
    ImagePreprocessing preprocessing_; ///< the task's, or that of the model from which training starts
    ModelSpec config_;
    ModelStructure structure_;
};

/// The description of a model for a task. @throws Error as check()
ModelSpec visionOf(const Architecture& architecture, const ImageTaskInstance& task);

} // namespace attn
