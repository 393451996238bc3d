#pragma once

#include <span>

namespace attn {

/// A question about logits: of one token or class, or how much more than that of another.
struct LogitTarget {
    int token = -1; ///< -1: the likeliest
    int other = -1; ///< -1: none
    bool operator==(const LogitTarget&) const = default;
};
/// @param logits that decide which one is the likeliest  @throws Error for those that do not exist
LogitTarget resolved(LogitTarget target, std::span<const float> logits);
double logitOf(const LogitTarget& target, std::span<const float> logits);
/// Writes the factors of the logits into a row of them.
void writeTarget(std::span<float> row, const LogitTarget& target);

} // namespace attn
