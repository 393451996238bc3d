#pragma once

#include "engine/session/attention_run.h"

#include <functional>
#include <optional>

namespace attn {

/// What an attention costs at one length: worked out from its plan, and measured.
struct AttentionCost {
    int64_t tokens = 0;                   ///< T = S
    double pairs = 0;                     ///< of a query and a key that the mask shows, over all heads
    double operations = 0;                ///< floating-point; a multiplication with its addition counts two
    double bytes = 0;                     ///< of device memory: inputs, constants, and what is alive between operations
    std::optional<double> milliseconds{}; ///< median of a forward pass
};

/// By formula: without a device, and without drawing a number. @throws Error as check()
AttentionCost attentionCost(const AttentionSpec& spec, const AttentionSizes& sizes);

/// The same with measured time, of at least three passes after one that is not counted.
/// @param isCancelled asked between passes  @return nothing if it was cancelled
/// @throws Error as AttentionRun, and for more memory than the device has
std::optional<AttentionCost> measureAttention(gpu::Context& context, KernelLibrary& kernels, const AttentionSpec& spec,
                                              const AttentionSizes& sizes, const std::function<bool()>& isCancelled);

} // namespace attn
