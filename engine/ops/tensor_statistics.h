#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// The numbers of tensorStatistics(), in order. The first four cover the values that are finite and not masked (masked
/// means at most kMasked), and are 0 if there are none. The last four are counts, exact below 2^24.
struct TensorStatistics {
    float minimum = 0, maximum = 0, mean = 0, standardDeviation = 0;
    float finite = 0, nans = 0, infinities = 0, masked = 0;
};

/// Statistics of a whole tensor in one pass. No gradient.
/// @param x F32, of any shape
/// @param live the number of indices of axis 0 that count, for tensors of two or more axes; empty: all
/// @return [8]: the fields of TensorStatistics
/// @throws Error if x has a live length or holds integers
Tensor tensorStatistics(Tensor x, std::optional<StepScalar> live = {});

} // namespace attn
