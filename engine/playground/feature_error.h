#pragma once

#include "engine/playground/attention_run.h"

#include <functional>
#include <vector>

namespace attn {

/// How far random features are from the softmax that they approximate.
struct FeatureError {
    int64_t features = 0; ///< m
    double error = 0;     ///< root mean square of the difference of outputs, over all draws
};

/// Runs an attention with random features on normal queries, keys and values, and its softmax on the same ones.
/// @param spec with a normaliser that approximates softmax  @param deviation standard deviation of queries and keys
/// @param counts numbers of features  @param draws of the random directions, for each count
/// @param drawn called after each draw
/// @throws Error if the normaliser approximates no softmax, or as AttentionRun
std::vector<FeatureError> featureErrors(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                                        double deviation, const std::vector<int64_t>& counts, int draws,
                                        const std::function<void()>& drawn = {});

} // namespace attn
