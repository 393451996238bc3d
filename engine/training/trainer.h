#pragma once

#include "engine/training/image_objective.h"
#include "engine/training/image_prediction.h"
#include "engine/training/sequence_objective.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// One training run on a device: a step is recorded once and replayed; per step the host writes the batch and the step
/// parameters. Synchronous; used from one thread.
class Trainer {
public:
    struct Options {
        std::optional<std::string> device{};
        std::optional<int> softwareThreads{}; ///< of software Vulkan; empty: its default
        bool validation = false;
        bool profiles = false; ///< times every dispatch of a step
    };

    /// @throws Error as check(), makeTask(), makeImageTask() and gpu::Context
    Trainer(const Recipe& recipe, const Options& options);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    const Recipe& recipe() const { return recipe_; }
    const Task& task() const { return task_; }
    const Objective& objective() const { return *objective_; }
    /// Of a task over sequences; null where it is over pictures.
    const SequenceObjective* sequences() const { return sequences_; }
    /// Of a task over pictures; null where it is over sequences.
    const ImageObjective* images() const { return images_; }
    int64_t stepsDone() const { return stepsDone_; }
    int64_t parameterCount() const;
    size_t dispatchCount() const; ///< of a step
    uint64_t arenaBytes() const;  ///< of a step: activations and gradients, without weights and optimiser states
    /// Device time of every dispatch of the last step, by shader. Empty unless Options::profiles.
    std::vector<gpu::Profiler::Stretch> profile() const { return step_->profile(); }
    gpu::Context& context() { return *context_; }

    struct StepReport {
        int64_t step = 0; ///< 1 after the first
        double loss = 0, gradientNorm = 0, learningRate = 0;
    };
    /// One update.
    StepReport step();
    /// Instead of the schedule's, from the next step on; empty: the schedule's again.
    void setLearningRate(std::optional<double> rate) { rate_ = rate; }

    struct Evaluation {
        double loss = 0;   ///< mean over the targets, in nats
        double metric = 0; ///< Task::metric: share of whole answers that are right, or the loss
        int64_t examples = 0;
        std::vector<int64_t> confusion{}; ///< of pictures: [class, class given]
    };
    /// @param most examples (sequences); a finite split is walked through from its beginning
    Evaluation evaluate(Split split, int64_t most);

    struct LengthEvaluation {
        double loss = 0;     ///< mean over the targets counted, in nats
        double accuracy = 0; ///< share of them that were the likeliest token
        int64_t targets = 0;
    };
    /// The present weights on another instance of the task, longer or shorter than the one trained on, with the same
    /// tokens.
    /// @param lastTargets counts only so many of each row's last targets; 0: all
    /// @throws Error if the model has weights that belong to one length, or reads pictures
    LengthEvaluation evaluateAt(const TaskInstance& instance, Split split, int rows, int lastTargets);

    /// Of the evaluations that follow. @param gate 0 removes the head's output, 1 leaves it
    void setEvaluationGate(int layer, int head, float gate);
    struct Answer {
        Example example;
        std::vector<int32_t> given; ///< what greedy generation writes in place of the answer
    };
    /// @param count examples from `first` on  @throws Error for a task over pictures
    std::vector<Answer> answers(Split split, uint64_t first, int count);
    /// Of a task over pictures. @throws Error for another
    std::vector<ImagePrediction> sights(Split split, uint64_t first, int count);

    /// A parameter or optimiser state, dense. Parameters by the engine's names; moments as "moment.NAME",
    /// "variance.NAME".
    std::vector<float> read(const std::string& name) const;
    void write(const std::string& name, std::span<const float> values);
    struct Named {
        std::string name;
        Shape shape;
    };
    /// Whether training leaves it as it is.
    bool isFrozen(const std::string& parameter) const;
    const std::vector<Named>& parameters() const { return parameters_; } ///< all, also those that stay as they are
    const std::vector<Named>& states() const { return states_; }         ///< of the optimiser
    void setStepsDone(int64_t steps) { stepsDone_ = steps; }

private:
    struct Loss; // a graph with its loss
    Loss withLoss(Objective::Forward forward) const;
    void describe();
    std::unique_ptr<GpuExecutor> makeExecutor(const Objective::Forward& model,
                                              const std::map<std::string, Tensor>& outputs, bool profiles = false);
    void buildStep(bool profiles);
    size_t firstGate(size_t layer) const;
    void fill(GpuExecutor& executor, const Batch& batch, double weightOfTarget, std::span<const float> gates) const;
    GpuExecutor& evaluator();

    Recipe recipe_;
    const Task& task_;
    std::unique_ptr<Objective> objective_;
    const SequenceObjective* sequences_ = nullptr;
    const ImageObjective* images_ = nullptr;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<KernelLibrary> kernels_;
    std::unique_ptr<TensorStore> store_;
    std::vector<Named> parameters_, states_;
    std::unique_ptr<GpuExecutor> step_, update_, evaluator_;
    int64_t stepsDone_ = 0;
    std::optional<double> rate_;
    std::vector<float> openGates_, evaluationGates_; ///< those of one layer after those of the one before
};

} // namespace attn
