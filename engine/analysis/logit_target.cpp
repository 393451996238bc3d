#include "engine/analysis/logit_target.h"

#include "engine/core/error.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/model_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {

LogitTarget resolved(LogitTarget target, std::span<const float> logits, const ModelInfo& model) {
    for (int token : {target.token, target.other})
        if (token >= static_cast<int>(logits.size()))
            throw Error({.what = fmt::format("{} is not one of the {} outputs of the model", token, logits.size()),
                         .where = "target",
                         .hint = fmt::format("choose a number from 0 to {}", logits.size() - 1)});
    requireLogits(logits, model.name, model.activation);
    for (int token : {target.token, target.other})
        if (token >= 0 && std::isinf(logits[static_cast<size_t>(token)]))
            throw Error({.what = fmt::format(
                             "the model bars number {}: its logit is minus infinity, which has no parts", token),
                         .where = "target",
                         .hint = "choose another token or class"});
    if (target.token < 0) target.token = static_cast<int>(std::ranges::max_element(logits) - logits.begin());
    return target;
}

double logitOf(const LogitTarget& target, std::span<const float> logits) {
    const double own = static_cast<double>(logits[static_cast<size_t>(target.token)]);
    return target.other < 0 ? own : own - static_cast<double>(logits[static_cast<size_t>(target.other)]);
}

void writeTarget(std::span<float> row, const LogitTarget& target) {
    std::ranges::fill(row, 0.0f);
    row[static_cast<size_t>(target.token)] += 1;
    if (target.other >= 0) row[static_cast<size_t>(target.other)] -= 1;
}

} // namespace attn
