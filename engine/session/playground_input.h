#pragma once

#include "engine/session/layer_inputs.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace attn {

/// What is known of each token of a picture, or of anything else that a model has not seen.
struct TokenFeatures {
    int64_t tokens = 0, width = 0;
    std::vector<float> values; ///< [tokens, width], about as large as normal numbers
};

/// Queries, keys and values for one attention.
struct AttentionNumbers {
    std::vector<float> q, k, v; ///< [heads, tokens, width], [groups, keys, width]
};

/// How many an attention needs of what.
struct AttentionExtents {
    int64_t heads = 1, groups = 1, tokens = 1, width = 1;
    int64_t keys = 0; ///< S of random numbers; 0: as many as tokens
    bool operator==(const AttentionExtents&) const = default;
};

/// Normal random numbers. Fewer heads draw the first of more.
AttentionNumbers randomNumbers(const AttentionExtents& extents, uint64_t seed);

/// Features through fixed random matrices: one for the query and the key of a group of heads, so that tokens that are
/// alike attend to each other, and another for the value.
AttentionNumbers projectedNumbers(const TokenFeatures& features, const AttentionExtents& extents, uint64_t seed);

/// A model's own numbers for its first heads. @throws Error where its heads share keys in another way, and for more
/// heads than it has
AttentionNumbers layerNumbers(const LayerInputs& inputs, const AttentionExtents& extents);

} // namespace attn
