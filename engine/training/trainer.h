#pragma once

#include "engine/core/error.h"
#include "engine/training/adapters.h"
#include "engine/training/loss_scale.h"
#include "engine/training/objective.h"
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

class LanguageModel;

/// A loss or weights are not numbers: what was learned is lost.
class NotFinite : public Error {
public:
    using Error::Error;
};

/// Trains a model on a device. The commands of a step are recorded once and replayed; before each step the host writes
/// the batch and the step parameters. Synchronous; for use by one thread.
class Trainer {
public:
    /// @throws Error as check(), makeTask(), makeImageTask() and Device::shared()
    /// @param execution whether every dispatch is timed, for profile(), and how a step is cut
    /// @param make      makes what to train
    explicit Trainer(const Recipe& recipe, const DeviceChoice& choice = {}, const GpuExecutorOptions& execution = {},
                     const MakeObjective& make = makeObjective);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// The recipe, with the hash and the architecture of the model from which training starts.
    const Recipe& recipe() const { return recipe_; }
    const Task& task() const { return task_; }
    const Objective& objective() const { return *objective_; }
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
    TensorStore& store() { return *store_; } ///< parameters and states

    struct StepReport {
        int64_t step = 0; ///< number of the step, from 1
        double loss = 0, gradientNorm = 0, learningRate = 0;
        bool isSkipped = false; ///< the gradients overflowed, so that the update was left out; the norm is then 0
    };
    /// Runs all kernels of a step and of an evaluation once, because drivers compile them late. Overwrites the
    /// parameters. @param mayContinue called with the share done before each piece; false ends it
    /// @return whether all have run
    bool warmUp(const std::function<bool(double)>& mayContinue);
    /// Runs one step.
    StepReport step();
    /// The scale of the loss from the next step on; none unless the precision is F16.
    std::optional<LossScale> lossScale() const {
        return scalesLoss(recipe_.precision) ? std::optional(lossScale_) : std::nullopt;
    }
    /// The fraction of the nonzero gradients of activations that become zero when rounded to F16, for the next batch.
    /// Nothing is updated. @param scale of the loss  @throws Error unless the precision is F16
    double vanishingGradients(double scale);
    /// Replaces the learning rate from the next step on; none: the rate of the schedule.
    void setLearningRate(std::optional<double> rate) { rate_ = rate; }

    /// Measures the model. @param most largest number of examples, counted from the start of a finite split
    /// @throws NotFinite if the loss is not finite
    Evaluation evaluate(Split split, int64_t most);

    struct LengthEvaluation {
        double loss = 0;     ///< mean over the counted targets, in nats
        double accuracy = 0; ///< share of the counted targets that were the most probable token
        int64_t targets = 0;
    };
    /// Measures the current parameters in another graph of the model, such as that of another length.
    /// @param lastTargets number of targets to count at the end of each row; 0: all
    /// @throws NotFinite if the loss is not finite
    LengthEvaluation measure(const Objective::Forward& forward, const Batch& batch, int lastTargets);

    /// The model of text as people use it, on the current parameters and with the gates of evaluations, for a TextBatch
    /// or for one text at a time: its own cache has room for few tokens at first. It is valid until the next step.
    LanguageModel& writer();

    /// Sets a gate for the following evaluations.
    /// @param site index into ModelStructure::sites  @param gate factor on the head's output: 0 removes it, 1 leaves it
    void setEvaluationGate(int site, int head, float gate);
    /// Runs the model on a batch of evaluationRows() examples, with the gates of evaluations. The result is valid until
    /// the next evaluation.
    Said say(const Batch& batch);
    int evaluationRows() const { return evaluationRows_; }           ///< examples that are measured at once
    const std::vector<NamedLoss>& losses() const { return losses_; } ///< of the model, without logits

    /// The dense values of a parameter, by the engine's name and with its adapter, or of a state.
    std::vector<float> read(const std::string& name) const;
    /// Whether the device has room for several copies of all parameters.
    bool hasRoomFor(int copies) const;
    /// A copy of all parameters, with their adapters, that later steps do not change.
    std::shared_ptr<const TensorStore> copyOfParameters() const;
    /// Writes a parameter, to which its adapter is added, or a state.
    void write(const std::string& name, std::span<const float> values);
    struct Named {
        std::string name;
        Shape shape;
    };
    /// The error of a training whose loss or weights are no numbers any more. @param what says which
    NotFinite diverged(std::string what) const;
    /// Whether training does not change a parameter.
    bool isFrozen(const std::string& parameter) const;
    const std::vector<Named>& parameters() const { return parameters_; } ///< all of the model, including frozen ones
    /// Tensors that resuming needs besides the parameters: A and B of the adapters, "moment.NAME", "variance.NAME",
    /// "loss_scale", and what goes from batch to batch.
    const std::vector<Named>& states() const { return states_; }
    const std::vector<Adapter>& adapters() const { return adapters_; }
    void setStepsDone(int64_t steps) { stepsDone_ = steps; }

private:
    friend TrainingMemory trainingMemory(const Recipe& recipe);
    struct Loss; // a graph with its loss
    struct Step; // the graph of a step, and that of the update
    /// Makes the objective and lists what is trained, without a device: enough to build graphs and plans.
    Trainer(const Recipe& recipe, const GpuExecutorOptions& execution, const MakeObjective& make);
    Objective::Forward adapted(Objective::Forward forward) const;
    Loss withLoss(Objective::Forward forward) const;
    static bool scalesLoss(DType precision) { return precision == DType::F16; }
    std::map<std::string, Tensor> addUpdates(Graph& graph, const std::vector<std::string>& names,
                                             const std::vector<Tensor>& gradients, bool isScaled) const;
    void copyParameters(TensorStore& to) const;
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
    /// The weight of a target of each loss, by its name. Missing: 1.
    using LossWeights = std::map<std::string, double, std::less<>>;
    /// The parts of the batch of a step, with the weights of their targets.
    struct StepBatch {
        std::vector<Batch> parts;
        LossWeights weights;
    };
    StepBatch nextBatch() const;
    Said say(const Batch& batch, bool continues);
    /// @param losses those of the executor's graph
    void fill(GpuExecutor& executor, std::span<const NamedLoss> losses, const Batch& batch, const LossWeights& weights,
              std::span<const float> gates) const;
    GpuExecutor& evaluator();
    void requireLoss(double loss) const; ///< @throws NotFinite if it is not finite

    Recipe recipe_;
    GpuExecutorOptions execution_;
    const Task& task_;
    std::unique_ptr<Objective> objective_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<TensorStore> store_;
    std::shared_ptr<TensorStore> adapted_; ///< parameters with their adapters, of writer_
    std::vector<Named> parameters_, states_;
    std::vector<Named> others_;         ///< parameters of other models: see Objective::isOther()
    std::vector<Named> trained_;        ///< tensors that the optimiser changes: parameters, and A and B of adapters
    std::vector<std::string> averages_; ///< parameters that follow a running average: see AttentionFlow::averages
    std::vector<Adapter> adapters_;
    std::vector<std::string> carried_; ///< states that go from batch to batch: see Objective::Forward::updates
    std::unique_ptr<GpuExecutor> step_, update_, evaluator_;
    std::unique_ptr<LanguageModel> writer_; ///< shares the store
    int evaluationRows_ = 1;
    std::vector<NamedLoss> losses_;
    int64_t stepsDone_ = 0;
    int64_t builtStage_ = -1; ///< stage of step_; -1: there is none
    std::optional<double> rate_;
    LossScale lossScale_;
    std::vector<float> openGates_, evaluationGates_; ///< gates of all layers, one after the other
};

} // namespace attn
