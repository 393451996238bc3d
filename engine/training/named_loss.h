#pragma once

#include "engine/models/class_activation.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/training/tasks/batch.h"

#include <cstdint>
#include <span>
#include <string>

namespace attn {

/// A loss that training makes small: the mean of a number for each row of a prediction that has a target. The targets
/// are rows of a batch.
struct NamedLoss {
    enum class Kind : uint8_t {
        CrossEntropy, ///< of logits; the target is the right choice (Batch::integers), or Batch::kIgnored
        SquaredError, ///< of numbers, the mean over their columns; targets are as many (Batch::numbers), or NaN
        /// Of a logit for each label, the mean over the labels; targets are as many, 1 or 0 (Batch::numbers), or NaN.
        BinaryCrossEntropy,
        /// Of logits and a teacher's logits: temperature^2 KL(teacher || model), where both are divided by the
        /// temperature. Rows count that have a target in Batch::integers.
        /// @source Hinton et al. 2015, arXiv:1503.02531, section 2
        Divergence
    };
    std::string name;
    Tensor prediction;   ///< [rows * perRow, choices or numbers]
    int64_t width = 1;   ///< numbers of a target, of a loss that reads numbers
    int64_t perRow = 1;  ///< targets of an example in the graph; a batch may have fewer
    double weight = 1;   ///< factor on its mean in the loss of the model
    bool smooths = true; ///< whether Recipe::smoothing applies to a cross-entropy
    /// Choices: the metric that is the share of its targets that were the most probable choice; Task::metric then
    /// measures the last such loss that has targets. Others: the metric that is its mean, or of the first loss what
    /// LabelScores say besides: the mean F1 of the labels, or the mean absolute error. Empty: not reported.
    std::string metric{};
    Kind kind = Kind::CrossEntropy;
    std::string targets{}; ///< the rows of the batch with its targets; empty: those that have its name
    Tensor teacher{};      ///< the shape of the prediction; of a divergence
    double temperature = 1;

    bool hasChoices() const { return kind == Kind::CrossEntropy; }
    bool readsNumbers() const { return kind == Kind::SquaredError || kind == Kind::BinaryCrossEntropy; }
    bool measuresShare() const { return hasChoices() || kind == Kind::BinaryCrossEntropy; } ///< by its metric
    const std::string& rowsName() const { return targets.empty() ? name : targets; }
};

/// The loss of a classifier's logits, by what turns them into answers. Its targets have the name Batch::kTargets.
/// @param logits [rows * perRow, classes or numbers]  @param rows examples
NamedLoss lossOfAnswers(Tensor logits, ClassActivation activation, int64_t rows);

/// Adds the losses of a prediction's rows to its graph, times a weight for each row, which inputs hold as the targets.
/// @return [rows]
Tensor lossesOf(const NamedLoss& loss, double smoothing = 0);
/// The targets of a loss in a batch, which must outlive this.
class LossTargets {
public:
    LossTargets(const NamedLoss& loss, const Batch& batch);
    int64_t columns() const { return columns_; } ///< of each row of the batch
    bool has(int64_t row, int64_t column) const;
    int64_t count() const;
    int32_t choice(int64_t row, int64_t column) const; ///< of a loss that reads integers
    /// Of a loss that reads numbers.
    std::span<const float> numbers(int64_t row, int64_t column) const;

private:
    std::span<const int32_t> choices_;
    std::span<const float> numbers_;
    int64_t rows_, columns_, width_;
};

/// Writes a batch's targets to the inputs of lossesOf(). @param weight of each
void fillTargets(GpuExecutor& executor, const NamedLoss& loss, const Batch& batch, double weight);

} // namespace attn
