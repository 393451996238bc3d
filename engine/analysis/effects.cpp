#include "engine/analysis/effects.h"

#include <cmath>

namespace attn {

void PatchGap::compare(const ModelInfo& model, const LogitTarget& asked, std::span<const float> ownLogits,
                       std::span<const float> otherLogits) {
    target = {.token = resolved({.token = asked.token}, otherLogits, model).token,
              .other = resolved({.token = asked.other}, ownLogits, model).token};
    if (target.other == target.token) target.other = -1; // both runs predict the same token
    own = static_cast<float>(logitOf(target, ownLogits));
    other = static_cast<float>(logitOf(target, otherLogits));
}

bool PatchGap::hasGap() const { return !(std::abs(static_cast<double>(other) - static_cast<double>(own)) <= 1e-9); }

float PatchGap::shareOf(double logit) const {
    const auto from = static_cast<double>(own);
    return static_cast<float>((logit - from) / (static_cast<double>(other) - from));
}

} // namespace attn
