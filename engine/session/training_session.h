#pragma once

#include "engine/core/failure.h"
#include "engine/core/no_limit.h"
#include "engine/inference/given.h"
#include "engine/runtime/device.h"
#include "engine/training/image_prediction.h"
#include "engine/training/metrics.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct Recipe;
struct WeightSet;

/// An example of the validation split and the model's answer, as texts of tokens.
struct SampleAnswer {
    GivenText question; ///< with its tokens; the target is the model's answer, where it writes one
    std::vector<std::string> expected, given;
    std::optional<double> error{}; ///< of numbers, which are not right or wrong: see meanDistance()
    bool isRight() const { return expected == given; }
};

/// Predictions for pictures of the validation split.
struct ImagePredictions {
    std::vector<std::string> labels; ///< names of the classes
    std::vector<ImagePrediction> examples;
    /// [right class, predicted class], over more examples than `examples`; empty: the task has no classes.
    std::vector<int64_t> confusion;
};

/// The mean of the errors of answers that are numbers; none for other answers, or without answers.
template <class Answers> std::optional<double> meanErrorOf(const Answers& answers) {
    double sum = 0;
    for (const auto& answer : answers) {
        if (!answer.error) return std::nullopt;
        sum += *answer.error;
    }
    return answers.empty() ? std::nullopt : std::optional(sum / static_cast<double>(answers.size()));
}

/// The answers of the model at a step.
struct AnswersAtStep {
    int64_t step = -1;                                        ///< -1: none yet
    std::shared_ptr<const std::vector<SampleAnswer>> samples; ///< null for a task with pictures
    std::shared_ptr<const ImagePredictions> predictions;      ///< null for a task with sequences
};
using AnswersBySteps = std::vector<AnswersAtStep>;

/// The state of a training run that views show.
struct TrainingSnapshot {
    enum class State { None, Preparing, Paused, Training, Finished };

    uint64_t version = 0; ///< increases by one with each snapshot
    State state = State::None;
    std::string folder;
    std::shared_ptr<const Recipe> recipe;
    std::string device;
    int64_t parameterCount = 0, modelParameterCount = 0; ///< parameters that training changes; all of the model
    uint64_t stepBytes = 0;                              ///< memory of a step for activations and gradients
    std::string startSentence;                           ///< attn::startSentence()
    int64_t step = 0;
    double secondsPerStep = 0;
    bool isMeasuring = false; ///< the step at work ends with a measurement on held-out examples, which takes a while
    GivenText example;        ///< to show in views
    AnswersAtStep answers;    ///< the newest
    /// The answers of all steps that were evaluated since the run was opened. Of long runs only some are kept.
    std::shared_ptr<const AnswersBySteps> allAnswers = std::make_shared<const AnswersBySteps>();
    std::shared_ptr<const WeightSet> weights; ///< answer to the last requestWeights()
    int64_t weightsStep = -1;
    uint64_t checkpointCount = 0; ///< number of checkpoints written
    double preparation = -1;      ///< share that is done of the first prepare() ever; -1: it is not at work
    /// Why the training run stopped, or why the one before could not be saved; cleared by the next step.
    std::optional<Failure> failure;
    uint64_t failureCount = 0;
    /// Folder of a run that could not be opened, for the reason in `failure`. The rest is of the run before, which is
    /// closed.
    std::string refused;
    std::optional<Failure> warning; ///< why metrics are not written, or answers not shown, while training continues
};

/// Trains on its own thread with its own parameters, so views cannot change a training run. All public functions except
/// waitIdle return at once, and all are thread-safe.
class TrainingSession {
public:
    explicit TrainingSession(DeviceChoice choice);
    ~TrainingSession(); ///< writes a checkpoint and joins
    TrainingSession(const TrainingSession&) = delete;
    TrainingSession& operator=(const TrainingSession&) = delete;

    /// Starts a training run in a folder, or resumes the one in it from its last checkpoint. Saves the current training
    /// run first.
    void start(const std::filesystem::path& folder, const Recipe& recipe, bool plays);
    void play();
    void pause();
    /// Runs one step, then pauses.
    void step();
    /// Saves and closes the training run. One that cannot be saved is closed too.
    void close();
    /// Compiles the kernels that a recipe and the views of its model need, so that the first steps are fast: makes a
    /// step that is thrown away. Does nothing while a run is open; a run that starts ends it.
    /// @param isFirstUse whether the snapshots say how far it is, even if the device has kernels on disk by now
    void prepare(const Recipe& recipe, bool isFirstUse = false);
    /// Replaces the learning rate from the next step on; none: the rate of the schedule.
    void setLearningRate(std::optional<double> rate);
    /// Limits the steps per second; 0: as fast as possible.
    void setPace(double stepsPerSecond);
    /// Requests the parameters after the next step: TrainingSnapshot::weights.
    void requestWeights();

    /// The newest snapshot; never null.
    std::shared_ptr<const TrainingSnapshot> latest() const;
    /// The metrics of all steps since the last call. Those of a new training run come after a snapshot with its folder.
    std::vector<MetricPoint> takePoints();
    /// Sets the function that the training thread calls after each new snapshot, at most 30 times per second.
    void setListener(std::function<void()> listener);
    /// Blocks until the session has no work left. @return false on time-out
    bool waitIdle(double timeoutSeconds = kNoLimit);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
