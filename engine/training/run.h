#pragma once

#include "engine/inference/given.h"
#include "engine/io/run_lock.h"
#include "engine/jobs/job_file.h"
#include "engine/models/memory_source.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics_file.h"
#include "engine/training/run_data.h"
#include "engine/training/trainer.h"
#include "engine/training/update_ratios.h"

#include <functional>
#include <memory>
#include <optional>

namespace attn {

/// A copy of the current parameters: on the device, if it has room. @param model as Objective::describe()
std::shared_ptr<const WeightSet> weightsOf(const Trainer& trainer, std::shared_ptr<const WeightSet::Model> model);
/// An example to show while the model trains, as tokens.
GivenText exampleInput(const Trainer& trainer);

/// A training run and its folder. Writes metrics, evaluations and checkpoints when they are due. Synchronous; for use
/// by one thread.
class TrainingRun {
public:
    /// Starts in an empty folder, or resumes from the last checkpoint.
    /// @throws Error if the folder already has a training run, or none to resume, if its data has changed since, or if
    /// another process trains in it
    TrainingRun(const std::filesystem::path& folder, const Recipe& recipe, const DeviceChoice& choice, bool resumes);

    Trainer& trainer() { return trainer_; }
    const std::filesystem::path& folder() const { return folder_; }
    ~TrainingRun();
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;
    bool isFinished() const { return !isLost_ && trainer_.stepsDone() >= trainer_.recipe().schedule.steps; }

    /// What job.json says of it. A run that ends before its last step is stopped, unless it failed.
    JobJournal& job() { return *job_; }
    Progress progress() const; ///< with the time that is left, at the rate of the steps so far

    /// Runs one step and everything that is due after it. After a step whose loss or weights were not numbers, first
    /// goes back to the last checkpoint. @throws Error if the loss is not a number, with the step to which it goes back
    MetricPoint advance();
    /// Writes a checkpoint, unless this step already has one, or its loss was not a number.
    /// @throws Error if the weights are not numbers, or if a file cannot be written
    void save();
    /// A problem with the files of the training run, which continues: the newest metrics cannot be written, as on a
    /// full disk, the folder was removed and is written again, the device has no room to measure the model, or lines of
    /// the metrics could not be read. None: no problem.
    std::optional<Failure> problem() const;
    /// Why the newest metrics are not in metrics.jsonl. None if all are.
    const std::optional<Failure>& metricsProblem() const { return metrics_->problem(); }
    /// After the last step: writes the model to the training run's folder.
    void finish();

    std::shared_ptr<const WeightSet> weights() const { return weightsOf(trainer_, model_); }

private:
    MetricPoint makeStep();
    void goBack();
    void orLose(const std::function<void()>& work);
    void restoreFolder();

    std::filesystem::path folder_;
    Trainer trainer_;
    std::vector<RunData> data_; ///< as it was when the trainer read it
    UpdateRatios ratios_;
    int64_t saved_ = -1;                ///< step of the last checkpoint
    bool restored_ = false;             ///< someone removed the folder
    bool isLost_ = false;               ///< the loss or the weights are not numbers
    std::optional<Failure> unmeasured_; ///< why the newest evaluation has no numbers
    std::optional<Failure> damage_;     ///< lines of metrics.jsonl that could not be read when the run was opened
    std::optional<RunLock> lock_;
    std::unique_ptr<MetricsFile> metrics_;
    std::optional<JobJournal> job_;
    double workSeconds_ = 0; ///< of all steps
    RemainingTime remaining_;
    std::optional<double> secondsLeft_;
    std::shared_ptr<const WeightSet::Model> model_;
};

/// The number of examples in an evaluation: all of a finite split.
int64_t exampleCount(const Trainer& trainer, Split split);

} // namespace attn
