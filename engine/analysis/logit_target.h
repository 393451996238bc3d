#pragma once

#include <span>

namespace attn {

struct ModelInfo;

/// The logit of a token or class, or its difference from the logit of another.
struct LogitTarget {
    int token = -1; ///< -1: the most probable
    int other = -1; ///< -1: none
    bool operator==(const LogitTarget&) const = default;
};
/// Replaces token -1 by the index of the largest logit.
/// @param model whose logits they are
/// @throws Error as requireLogits(), and if the target has indices outside of the logits, or of one that is barred
LogitTarget resolved(LogitTarget target, std::span<const float> logits, const ModelInfo& model);
/// logits[token], minus logits[other] if there is one.
double logitOf(const LogitTarget& target, std::span<const float> logits);
/// Writes the coefficients of the target into a row of logits: 1 at `token`, -1 at `other`, 0 elsewhere.
void writeTarget(std::span<float> row, const LogitTarget& target);

} // namespace attn
