#pragma once

#include "engine/training/composed_start.h"
#include "engine/training/objective.h"
#include "engine/training/starting_model.h"

#include <set>

namespace attn {

/// A model that continues sequences of tokens, fills in hidden ones, or sorts texts or tokens into classes.
class SequenceObjective : public Objective {
public:
    /// @param start the model to train further, if there is one
    /// @throws Error as check() and makeTask(), or if the model cannot learn the task
    explicit SequenceObjective(const Recipe& recipe, std::optional<StartingModel> start = {});

    const TaskInstance& instance() const { return *instance_; }
    const ModelSpec& config() const { return config_; }

    Forward forward(int rows, double dropout, int64_t windowDivisor = 1) const override;
    /// The graph for sequences of another length. @param columns a multiple of 8  @param sources tokens of a source
    Forward forwardOf(int rows, int64_t columns, int64_t sources, double dropout) const;
    bool hasWindows() const override;
    const ModelStructure& structure() const override { return structure_; }
    /// The segments of which the task hides some; none if it hides none.
    const Segments& segments() const { return config_.segments; }
    Batch batch(Split split, uint64_t index, int rows) const override;
    Batch questions(Split split, uint64_t first, int rows) const override;
    std::optional<uint64_t> rowCount(Split split) const override { return instance_->rowCount(split); }
    std::optional<int> rowsTogether(const Recipe& recipe) const override;
    /// The logits of answer spans.
    std::map<std::string, Tensor> views(const Forward& forward) const override;
    void choose(Said& said, const Batch& batch) const override;
    void addTo(Evaluation& evaluation, Split split, const Batch& batch, const Said& said, int64_t row, uint64_t index,
               bool isRight) const override;
    void fill(GpuExecutor& executor, const Batch& batch) const override;
    void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const override;
    std::optional<WeightRecipe> placeOf(const std::string& parameter) const override;
    ReadStored openModel(const std::filesystem::path& folder) const override;
    std::shared_ptr<const WeightSet::Model> describe() const override;

    /// Whether the task has other tokens than the model from which training starts. Rows of tokens that both have are
    /// copied; the others are new.
    bool hasNewTokens() const { return !tokens_.before.empty(); }
    bool isNew(const std::string& parameter) const override;
    std::string startSentence() const override { return parameters_.sentence(structure_.blocks()); }
    std::vector<float> startOf(const std::string& parameter, const Shape& shape,
                               std::vector<float> fresh) const override;

private:
    static Forward forwardOf(const ModelSpec& config, int rows, int64_t columns, int64_t sources, double dropout);
    void fitTo(const StartingModel& start, const Recipe& recipe);
    void setReadout(const Task& task);
    std::vector<int> stopTokens() const;
    void fillPrefixes(GpuExecutor& executor, const Batch& batch) const;
    void fillReadoutRows(GpuExecutor& executor, const Batch& batch) const;

    const Task& task_;
    std::optional<StartingModel> start_;
    StartingParameters parameters_; ///< of the starting model
    NewRows tokens_;
    std::unique_ptr<TaskInstance> instance_;
    int64_t columns_ = 0, sources_ = 0; ///< columns of a batch, padded to a multiple of 4 for attention
    ModelSpec config_;
    ModelSpec written_; ///< as the files of a model say it
    ModelStructure structure_;
};

} // namespace attn
