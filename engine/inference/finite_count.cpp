#include "engine/inference/finite_count.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {

void FiniteCount::require(const std::string& subject, const std::string& where) const {
    if (wrong_ == 0) return;
    throw Error(
        {.what = fmt::format("{} of {} {} are NaN or infinite, so there is no result", wrong_, all_, subject),
         .where = where,
         .hint = "look for weights, or changes to the run, that are damaged or much too large, also for the storage "
                 "of the weights (f16 holds up to 65504)"});
}

namespace {

FiniteCount countOf(std::span<const float> logits, ClassActivation activation) {
    const bool mayBar = activation == ClassActivation::Softmax &&
                        std::ranges::any_of(logits, [](float logit) { return std::isfinite(logit); });
    FiniteCount count;
    for (const float logit : logits) count.add(mayBar && logit == -INFINITY ? 0 : static_cast<double>(logit));
    return count;
}

} // namespace

void requireLogits(std::span<const float> logits, const std::string& where, ClassActivation activation) {
    countOf(logits, activation).require("logits", where);
}

int64_t wrongLogits(std::span<const float> logits, ClassActivation activation) {
    return countOf(logits, activation).wrong();
}

} // namespace attn
