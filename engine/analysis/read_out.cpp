#include "engine/analysis/read_out.h"

#include "engine/analysis/whole_run.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int64_t kRows = 32; // rows per run: memory for 32 rows of logits, whatever the length of the text

} // namespace

ReadOut::ReadOut(LanguageModel& model, int choices)
    : width_(model.streamWidth()), vocabulary_(model.info().vocabulary),
      choices_(std::min(choices, model.info().vocabulary)) {
    const auto graph = std::make_shared<Graph>();
    const Tensor streams = graph->input("streams", {.shape = {kRows, width_}});
    const Tensor targets = graph->input("targets", {.shape = {kRows}, .dtype = DType::I32}); // row * V + token
    const Tensor logits = readOut(model.config(), streams);                                  // [rows,V]
    const Tensor total = logSumExp(logits);                                                  // [rows,1]
    const Tensor logs = binary(logits, total, Binary::Subtract);
    const Tensor finite = clamp(logs, -1e30, 1); // a token that the model bars adds 0 to the entropy
    const Tensor entropy =
        unary(reduce(multiply(finite, unary(logs, Unary::Exponential)), Reduction::Sum, {1}), Unary::Negate);
    const Tensor target = take(reshape(logs, {kRows * vocabulary_, 1}), targets); // [rows,1]
    const Tensor rank = reduce(binary(target, logs, Binary::Less), Reduction::Sum, {1});
    const TopK largest = topK(logs, choices_);
    executor_ = weightRun(model, graph,
                          {{"entropy", entropy},
                           {"target", target},
                           {"rank", rank},
                           {"values", largest.values},
                           {"indices", largest.indices}});
}

ReadOutRows ReadOut::read(std::span<const float> streams, std::span<const int> targets) {
    const auto width = static_cast<size_t>(width_), rows = streams.size() / width;
    ReadOutRows result{.rows = static_cast<int64_t>(rows), .choices = choices_};
    const auto rowStride = static_cast<size_t>(Shape{width_}.rowStride()),
               choiceStride = static_cast<size_t>(Shape{choices_}.rowStride());
    for (size_t first = 0; first < rows; first += kRows) {
        const size_t count = std::min<size_t>(kRows, rows - first);
        const std::span<float> input = executor_->input("streams");
        const std::span<int32_t> ids = executor_->inputIntegers("targets");
        for (size_t row = 0; row < count; ++row) {
            std::ranges::copy(streams.subspan((first + row) * width, width),
                              input.begin() + static_cast<std::ptrdiff_t>(row * rowStride));
            const int target = targets[first + row];
            ids[row] = static_cast<int32_t>(static_cast<int64_t>(row) * vocabulary_) +
                       (target >= 0 && target < vocabulary_ ? target : 0);
        }
        executor_->run({});
        const auto values = executor_->result("values"), entropy = executor_->result("entropy"),
                   target = executor_->result("target"), rank = executor_->result("rank");
        const auto indices = executor_->resultIntegers("indices");
        const auto single = static_cast<size_t>(Shape{1}.rowStride());
        for (size_t row = 0; row < count; ++row) {
            for (size_t choice = 0; choice < static_cast<size_t>(choices_); ++choice) {
                result.ids.push_back(indices[row * choiceStride + choice]);
                result.probabilities.push_back(std::exp(values[row * choiceStride + choice]));
            }
            result.entropy.push_back(entropy[row * single]);
            result.targetLogProbability.push_back(target[row * single]);
            result.targetRank.push_back(static_cast<int>(std::lround(rank[row * single])));
        }
    }
    return result;
}

} // namespace attn
