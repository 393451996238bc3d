#pragma once

#include "engine/core/failure.h"
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

/// An example of the validation split and what the model writes for it, as texts of tokens.
struct SampleAnswer {
    std::string prompt;
    std::vector<std::string> expected, given;
    bool isRight() const { return expected == given; }
};

/// What a model that is trained on pictures makes of some of the validation split.
struct TrainingSights {
    std::vector<std::string> labels; ///< of the classes
    std::vector<ImagePrediction> examples;
    std::vector<int64_t> confusion; ///< [class, class given], of more examples than these
};

/// A training run at one moment.
struct TrainingSnapshot {
    enum class State { None, Preparing, Paused, Training, Finished };

    uint64_t version = 0; ///< grows by one with each snapshot
    State state = State::None;
    std::string folder;
    std::shared_ptr<const Recipe> recipe;
    std::string device;
    int64_t parameterCount = 0;
    int64_t step = 0;
    double secondsPerStep = 0;
    std::vector<int> exampleTokens;                           ///< a question with its answer, to look at
    std::shared_ptr<const std::vector<SampleAnswer>> samples; ///< null for a task over pictures
    std::shared_ptr<const TrainingSights> sights;             ///< null for a task over sequences
    std::shared_ptr<const WeightSet> weights;                 ///< as asked for last
    int64_t weightsStep = -1;
    uint64_t checkpointCount = 0;   ///< grows with each that is written
    std::optional<Failure> failure; ///< the run stands still; cleared by the next start
    uint64_t failureCount = 0;
};

/// Trains on one thread of its own, with a device of its own, so that nothing that is looked at can change a run. All
/// public functions are thread-safe and return at once.
class TrainingSession {
public:
    struct Options {
        std::optional<std::string> device;  ///< index or part of the name; empty: the best
        std::optional<int> softwareThreads; ///< of software Vulkan; empty: its default
        bool validation = false;
    };

    explicit TrainingSession(Options options);
    ~TrainingSession(); ///< writes a checkpoint of the run and joins
    TrainingSession(const TrainingSession&) = delete;
    TrainingSession& operator=(const TrainingSession&) = delete;

    /// Begins a run in this folder or goes on with the one there; the present run is saved first.
    void start(const std::filesystem::path& folder, const Recipe& recipe, bool resumes, bool plays);
    void play();
    void pause();
    /// One step, then pauses.
    void step();
    /// Saves and lets go of the run.
    void close();
    /// Instead of the schedule's, from the next step on; empty: the schedule's again.
    void setLearningRate(std::optional<double> rate);
    /// Most steps per second, 0: as fast as possible.
    void setPace(double stepsPerSecond);
    /// The next snapshots carry the weights of the next step, once.
    void requestWeights();

    std::shared_ptr<const TrainingSnapshot> latest() const;
    /// The metrics of every step since the last call, none lost. Those of a new run follow a snapshot with its folder.
    std::vector<MetricPoint> takePoints();
    /// Called on the training thread after each new snapshot, at most 30 times a second while it trains.
    void setListener(std::function<void()> listener);
    /// Blocks until nothing is left to do but wait. @return false on time-out
    bool waitIdle(double timeoutSeconds = 60);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
