#include "engine/training/named_loss.h"

#include "engine/core/error.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"
#include "engine/training/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace attn {
namespace {

std::string targetsInput(const NamedLoss& loss) { return fmt::format("loss.{}.targets", loss.name); }

std::string weightsInput(const NamedLoss& loss) { return fmt::format("loss.{}.weights", loss.name); }

Tensor sumOfColumns(Tensor x) { return reshape(reduce(x, Reduction::Sum, {1}), {x.shape()[0]}); }

/// log softmax(logits / temperature). @return [rows, choices]
Tensor logProbabilities(Tensor logits, double temperature) {
    const Tensor scaled = scale(logits, 1 / temperature);
    return binary(scaled, logSumExp(scaled), Binary::Subtract);
}

/// log(1 + exp(x)), which is log(exp(x) + exp(0)): without overflow, and with slope 1/2 at 0. @param x [rows, columns]
Tensor softPlus(Tensor x) {
    const Tensor withZero = pad(reshape(x, {x.shape().elements(), 1}), 1, 0, 1); // [rows * columns, 2]
    return reshape(logSumExp(withZero), x.shape());
}

} // namespace

NamedLoss lossOfAnswers(Tensor logits, ClassActivation activation, int64_t rows) {
    const int64_t width = logits.shape()[1], perRow = logits.shape()[0] / rows;
    NamedLoss loss{.name = Batch::kTargets, .prediction = logits, .width = width, .perRow = perRow};
    if (activation == ClassActivation::Softmax) return loss;
    const bool isNumber = activation == ClassActivation::None;
    loss.kind = isNumber ? NamedLoss::Kind::SquaredError : NamedLoss::Kind::BinaryCrossEntropy;
    loss.metric = isNumber ? metric_names::kAbsoluteError : metric_names::kLabelsF1;
    return loss;
}

Tensor lossesOf(const NamedLoss& loss, double smoothing) {
    const int64_t rows = loss.prediction.shape()[0];
    Graph& graph = *loss.prediction.graph;
    const Tensor weights = graph.input(weightsInput(loss), {.shape = {rows}});
    if (loss.hasChoices())
        return crossEntropy(loss.prediction, graph.input(targetsInput(loss), {.shape = {rows}, .dtype = DType::I32}),
                            weights, loss.smooths ? smoothing : 0);
    if (loss.readsNumbers()) {
        const Tensor targets = graph.input(targetsInput(loss), {.shape = loss.prediction.shape()});
        const Tensor errors = loss.kind == NamedLoss::Kind::SquaredError
                                  ? unary(binary(loss.prediction, targets, Binary::Subtract), Unary::Square)
                                  : binary(softPlus(loss.prediction), multiply(loss.prediction, targets),
                                           Binary::Subtract); // -t log p - (1 - t) log(1 - p) of p = sigmoid(x)
        return multiply(weights, scale(sumOfColumns(errors), 1 / static_cast<double>(loss.width)));
    }
    const Tensor teacher = logProbabilities(stopGradient(loss.teacher), loss.temperature),
                 own = logProbabilities(loss.prediction, loss.temperature),
                 terms = multiply(unary(teacher, Unary::Exponential), binary(teacher, own, Binary::Subtract));
    return multiply(weights, scale(sumOfColumns(terms), loss.temperature * loss.temperature));
}

LossTargets::LossTargets(const NamedLoss& loss, const Batch& batch)
    : choices_(loss.readsNumbers() ? std::span<const int32_t>() : batch[loss.rowsName()]),
      numbers_(loss.readsNumbers() ? batch.numbersOf(loss.rowsName()) : std::span<const float>()), rows_(batch.rows),
      columns_((std::ssize(choices_) + std::ssize(numbers_) / loss.width) / batch.rows), width_(loss.width) {}

bool LossTargets::has(int64_t row, int64_t column) const {
    return numbers_.empty() ? choice(row, column) != Batch::kIgnored : !std::isnan(numbers(row, column).front());
}

int32_t LossTargets::choice(int64_t row, int64_t column) const {
    return choices_[static_cast<size_t>(row * columns_ + column)];
}

std::span<const float> LossTargets::numbers(int64_t row, int64_t column) const {
    return numbers_.subspan(static_cast<size_t>((row * columns_ + column) * width_), static_cast<size_t>(width_));
}

int64_t LossTargets::count() const {
    int64_t count = 0;
    for (int64_t at = 0; at < rows_ * columns_; ++at) count += has(at / columns_, at % columns_) ? 1 : 0;
    return count;
}

void fillTargets(GpuExecutor& executor, const NamedLoss& loss, const Batch& batch, double weight) {
    const LossTargets targets(loss, batch);
    const std::span<float> weights = executor.input(weightsInput(loss));
    if (targets.columns() > loss.perRow || static_cast<size_t>(batch.rows * loss.perRow) > weights.size())
        throw Error({.what = fmt::format("{} rows of {} targets do not fit a graph with {} in rows of {}", batch.rows,
                                         targets.columns(), weights.size(), loss.perRow),
                     .where = "loss " + loss.name,
                     .hint = "report this as a fault of the program"});
    const auto choices = loss.hasChoices() ? executor.inputIntegers(targetsInput(loss)) : std::span<int32_t>();
    const auto numbers = loss.readsNumbers() ? executor.input(targetsInput(loss)) : std::span<float>();
    std::ranges::fill(weights, loss.hasChoices() ? static_cast<float>(weight) : 0); // a choice can say that it is none
    std::ranges::fill(choices, Batch::kIgnored);
    std::ranges::fill(numbers, 0.0f);
    const auto stride = static_cast<size_t>(Shape{1, loss.width}.rowStride());
    for (int64_t row = 0; row < batch.rows; ++row)
        for (int64_t column = 0; column < targets.columns(); ++column) {
            if (!targets.has(row, column)) continue;
            const auto at = static_cast<size_t>(row * loss.perRow + column);
            weights[at] = static_cast<float>(weight);
            if (!choices.empty()) choices[at] = targets.choice(row, column);
            if (!numbers.empty()) std::ranges::copy(targets.numbers(row, column), numbers.subspan(at * stride).begin());
        }
}

} // namespace attn
