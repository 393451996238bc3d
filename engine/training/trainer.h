#pragma once

#include "engine/training/adapters.h"
#include "engine/training/image_objective.h"
#include "engine/training/image_prediction.h"
#include "engine/training/loss_scale.h"
#include "engine/training/sequence_objective.h"
#include "engine/training/training_memory.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attn {

/// Trains a model on a device. The commands of a step are recorded once and replayed; before each step the host writes
/// the batch and the step parameters. Synchronous; for use by one thread.
class Trainer {
public:
    /// @throws Error as check(), makeTask(), makeImageTask() and Device::shared()
    /// @param execution whether every dispatch is timed, for profile(), and how a step is cut
    explicit Trainer(const Recipe& recipe, const DeviceChoice& choice = {}, const GpuExecutorOptions& execution = {});
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// The recipe, with the hash and the architecture of the model from which training starts.
    const Recipe& recipe() const { return recipe_; }
    const Task& task() const { return task_; }
    const Objective& objective() const { return *objective_; }
    /// The objective of a task with sequences; null for a task with pictures.
    const SequenceObjective* sequences() const { return sequences_; }
    /// The objective of a task with pictures; null for a task with sequences.
    const ImageObjective* images() const { return images_; }
    int64_t stepsDone() const { return stepsDone_; }
    /// The stage of the newest step, from 0: see Schedule::stages.
    int64_t stage() const { return recipe_.schedule.stageOf(std::max<int64_t>(stepsDone_ - 1, 0)); }
    int64_t parameterCount() const;      ///< numbers that training changes
    int64_t modelParameterCount() const; ///< numbers of the model, without adapters
    size_t kernelCount() const;          ///< that a step starts
    uint64_t
    arenaBytes() const; ///< memory of a step for activations and gradients, without parameters and optimiser states
    /// Device time of the dispatches of the last step, by shader. Empty unless they are timed.
    std::vector<gpu::Stretch> profile() const { return step_->profile(); }
    Device& device() { return *device_; }

    struct StepReport {
        int64_t step = 0; ///< number of the step, from 1
        double loss = 0, gradientNorm = 0, learningRate = 0;
        bool isSkipped = false; ///< the gradients overflowed, so that the update was left out; the norm is then 0
    };
    /// Runs all kernels of a step and of an evaluation once, because drivers compile them late. The parameters are of
    /// no use afterwards. @param goesOn gets the share that is done before each piece; false ends it
    /// @return whether all have run
    bool warmUp(const std::function<bool(double)>& goesOn);
    /// Runs one step.
    StepReport step();
    /// The scale of the loss from the next step on; none unless the precision is F16.
    std::optional<LossScale> lossScale() const {
        return scalesLoss(recipe_.precision) ? std::optional(lossScale_) : std::nullopt;
    }
    /// The share of the numbers in the gradients of activations that rounding to F16 turns into zeros, of those that
    /// are not zero, for the next batch. Nothing is updated. @param scale of the loss  @throws Error unless the
    /// precision is F16
    double vanishingGradients(double scale);
    /// Replaces the learning rate from the next step on; no value: the rate of the schedule.
    void setLearningRate(std::optional<double> rate) { rate_ = rate; }

    struct Evaluation {
        double loss = 0;   ///< mean over the targets, in nats
        double metric = 0; ///< by Task::metric: share of right answers or of right hidden segments, or the loss
        int64_t examples = 0;
        std::vector<int64_t> confusion{}; ///< for pictures: [right class, predicted class]
        /// Of a task that hides tokens of texts with a class: share of the hidden tokens that were found. The metric is
        /// then that of the class, and the loss the sum of both.
        std::optional<double> hiddenTokens{};
        struct Matches {
            int64_t right = 0, examples = 0;
            double share() const { return static_cast<double>(right) / static_cast<double>(examples); }
        };
        std::map<std::string, Matches> subtasks{}; ///< exact matches by TaskInstance::subtaskOf()
    };
    /// Measures the model. @param most largest number of examples, counted from the start of a finite split
    Evaluation evaluate(Split split, int64_t most);

    struct LengthEvaluation {
        double loss = 0;     ///< mean over the counted targets, in nats
        double accuracy = 0; ///< share of the counted targets that were the most likely token
        int64_t targets = 0;
    };
    /// Measures the current parameters on an instance of the task with another length and the same tokens.
    /// @param lastTargets number of targets to count at the end of each row; 0: all
    /// @throws Error if the model has parameters that depend on the length, or reads pictures
    LengthEvaluation evaluateAt(const TaskInstance& instance, Split split, int rows, int lastTargets);

    /// Sets a gate for the following evaluations.
    /// @param site index into ModelStructure::sites  @param gate factor on the head's output: 0 removes it, 1 leaves it
    void setEvaluationGate(int site, int head, float gate);
    struct Answer {
        Example example;
        std::vector<int32_t> given; ///< the model's answer, by greedy generation
    };
    enum class Until : uint8_t {
        RightLength, ///< as many tokens as the right answer has
        EndToken     ///< up to the task's end token, or as many tokens as fit
    };
    /// The model's answers to `count` examples from `first` on. @throws Error for a task with pictures
    std::vector<Answer> answers(Split split, uint64_t first, int count, Until until = Until::RightLength);
    /// The predictions for `count` pictures from `first` on. @throws Error for a task with sequences
    std::vector<ImagePrediction> predictions(Split split, uint64_t first, int count);

    /// The dense values of a parameter, by the engine's name and with its adapter, or of a state.
    std::vector<float> read(const std::string& name) const;
    /// Writes a parameter, to which its adapter is added, or a state.
    void write(const std::string& name, std::span<const float> values);
    struct Named {
        std::string name;
        Shape shape;
    };
    /// Whether training does not change a parameter.
    bool isFrozen(const std::string& parameter) const;
    const std::vector<Named>& parameters() const { return parameters_; } ///< all of the model, including frozen ones
    /// What resuming needs besides them: A and B of the adapters, "moment.NAME", "variance.NAME" and "loss_scale".
    const std::vector<Named>& states() const { return states_; }
    const std::vector<Adapter>& adapters() const { return adapters_; }
    void setStepsDone(int64_t steps) { stepsDone_ = steps; }

private:
    friend TrainingMemory trainingMemory(const Recipe& recipe);
    struct Loss; // a graph with its loss
    struct Step; // the graph of a step, and that of the update
    /// Makes the objective and lists what is trained, without a device: enough to build graphs and plans.
    explicit Trainer(const Recipe& recipe, const GpuExecutorOptions& execution);
    Objective::Forward adapted(Objective::Forward forward) const;
    Loss withLoss(Objective::Forward forward) const;
    static bool scalesLoss(DType precision) { return precision == DType::F16; }
    std::map<std::string, Tensor> addUpdates(Graph& graph, const std::vector<std::string>& names,
                                             const std::vector<Tensor>& gradients, bool isScaled) const;
    void listTensors(const Objective::Forward& model);
    void allocate(const Objective::Forward& model);
    std::unique_ptr<GpuExecutor> makeExecutor(const Objective::Forward& model,
                                              const std::map<std::string, Tensor>& outputs,
                                              const GpuExecutorOptions& execution = {});
    std::vector<TrainingMemory::Alternative> savings(const Objective::Forward& model) const;
    std::vector<Recomputed> recomputed(const Objective::Forward& model, std::optional<MemorySaving> turned) const;
    Step stepOf(int64_t stage, std::optional<MemorySaving> turned = {}) const;
    void buildStep(int64_t stage);
    size_t firstGate(size_t site) const;
    /// The weights of a target, of the class of a row and of a hidden segment in the loss.
    struct LossWeights {
        double target = 1, textClass = 1, segment = 1;
    };
    /// The parts of the batch of a step, with the weights of their targets.
    struct StepBatch {
        std::vector<Batch> parts;
        LossWeights weights;
    };
    StepBatch nextBatch() const;
    void fill(GpuExecutor& executor, const Batch& batch, const LossWeights& weights,
              std::span<const float> gates) const;
    bool hidesSegments() const { return task_.segments != nullptr; }
    GpuExecutor& evaluator();
    void requireLoss(double loss) const; ///< @throws Error if it is not finite
    void addToSubtask(Evaluation& evaluation, Split split, uint64_t index, bool isRight) const;

    Recipe recipe_;
    GpuExecutorOptions execution_;
    const Task& task_;
    std::unique_ptr<Objective> objective_;
    const SequenceObjective* sequences_ = nullptr;
    const ImageObjective* images_ = nullptr;
    std::shared_ptr<Device> device_;
    std::unique_ptr<TensorStore> store_;
    std::vector<Named> parameters_, states_;
    std::vector<Named> trained_;        ///< what the optimiser changes: parameters, and A and B of adapters
    std::vector<std::string> averages_; ///< parameters that follow a running average: see AttentionFlow::averages
    std::vector<Adapter> adapters_;
    std::unique_ptr<GpuExecutor> step_, update_, evaluator_;
    int evaluationRows_ = 1; ///< examples that are measured at once
    int64_t stepsDone_ = 0;
    int64_t builtStage_ = 0; ///< that of step_
    std::optional<double> rate_;
    LossScale lossScale_;
    std::vector<float> openGates_, evaluationGates_; ///< gates of all layers, one after the other
};

} // namespace attn
