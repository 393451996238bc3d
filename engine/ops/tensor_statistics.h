#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// What tensorStatistics gives, in order. Of the values that are finite and not masked (at most kMasked),
/// all 0 if none is; counts are exact below 2^24.
struct TensorStatistics {
    float minimum = 0, maximum = 0, mean = 0, standardDeviation = 0;
    float finite = 0, nans = 0, infinities = 0, masked = 0;
};

/// Statistics of a whole tensor in one pass. No gradient.
/// @param x F32, of any shape  @param live how many of axis 0 count, of two or more; empty: all
/// @return [8]: the fields of TensorStatistics
/// @throws Error if x has a live length or holds integers
Tensor tensorStatistics(Tensor x, std::optional<StepScalar> live = {});

} // namespace attn
