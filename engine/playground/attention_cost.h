#pragma once

#include "engine/playground/attention_run.h"

#include <functional>
#include <optional>

namespace attn {

/// The cost of an attention at one length, from its plan and from measurement.
struct AttentionCost {
    int64_t tokens = 0;                   ///< T = S
    double pairs = 0;                     ///< visible pairs of a query and a key, over all heads; at most, by content
    double operations = 0;                ///< floating-point operations; a multiply-add counts as two
    double bytes = 0;                     ///< device memory: inputs, constants, and intermediate tensors
    double learnedBytes = 0;              ///< of the numbers that the attention itself learns, besides
    std::optional<double> milliseconds{}; ///< median of a forward pass
};

/// Computes the cost from the plan, without a device. @throws Error as check()
AttentionCost attentionCost(const AttentionSpec& spec, const AttentionSizes& sizes);

/// Computes the cost and measures the time: the median of at least three passes, after one that is not counted.
/// @param isCancelled called between passes  @return none if cancelled
/// @throws Error as AttentionRun, or if the device has too little memory
std::optional<AttentionCost> measureAttention(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                                              const std::function<bool()>& isCancelled);

} // namespace attn
