#pragma once

#include "engine/models/memory_source.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics.h"

#include <fstream>

namespace attn {

/// A training run with its folder: steps, metrics, evaluations and checkpoints when they are due. Synchronous; used
/// from one thread.
class TrainingRun {
public:
    /// Begins in an empty folder, or goes on from the last checkpoint.
    /// @throws Error when the folder holds a run already, or none to resume
    TrainingRun(const std::filesystem::path& folder, const Recipe& recipe, const Trainer::Options& options,
                bool resumes);

    Trainer& trainer() { return trainer_; }
    const std::filesystem::path& folder() const { return folder_; }
    bool isFinished() const { return trainer_.stepsDone() >= trainer_.recipe().schedule.steps; }

    /// One step, and what is due after it. @throws Error when the loss is not a number
    MetricPoint advance();
    /// Writes a checkpoint unless this step has one.
    void save();
    /// After the last step: writes the model into the run's folder and measures it. @return over the validation split
    Trainer::Evaluation finish();

    /// The weights as they are now.
    std::shared_ptr<const WeightSet> weights() const;
    /// A question of the validation split with its answer, but for its last token. Empty for a task over pictures.
    std::vector<int> exampleTokens() const;

private:
    std::vector<double> ratiosSince(const std::map<std::string, std::vector<float>>& before) const;
    std::map<std::string, std::vector<float>> trainedWeights() const;
    void write(const MetricPoint& point);

    std::filesystem::path folder_;
    Trainer trainer_;
    int64_t saved_ = -1; ///< step of the last checkpoint
    std::ofstream metrics_;
    std::shared_ptr<const WeightSet::Model> model_;
};

/// How many examples a split is measured on: all of a finite one.
int64_t exampleCount(const Trainer& trainer, Split split);

} // namespace attn
