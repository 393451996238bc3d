#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/inference/site_inputs.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace attn {

/// Features of tokens that do not come from a model, such as those of the patches of a picture.
struct TokenFeatures {
    int64_t tokens = 0, width = 0;
    std::vector<float> values; ///< [tokens, width], scaled like standard normal numbers
};

/// Queries, keys and values for one attention.
struct AttentionNumbers {
    std::vector<float> q, k, v; ///< [heads, tokens, width], [groups, keys, width]
};

/// The sizes of the inputs of an attention.
struct AttentionExtents {
    int64_t heads = 1, groups = 1, tokens = 1, width = 1;
    int64_t keys = 0;      ///< S of random numbers; 0: equal to `tokens`
    bool ofStream = false; ///< for a mixer of the stream, whose rows are the values
    bool operator==(const AttentionExtents&) const = default;
};

/// Standard normal random numbers. Fewer heads get the first numbers of more heads.
/// @param former numbers of the same seed and any extents; the first ones are kept instead of drawn again
AttentionNumbers randomNumbers(const AttentionExtents& extents, uint64_t seed, AttentionNumbers former = {});

/// Features times random matrices. Queries and keys of a group of heads share a matrix, so similar tokens attend to
/// each other. Values have another one.
/// @param former numbers of the same features, seed, tokens and width; the first groups are kept
AttentionNumbers projectedNumbers(const TokenFeatures& features, const AttentionExtents& extents, uint64_t seed,
                                  AttentionNumbers former = {});

/// The queries, keys and values of the first heads of a model's layer, or the rows of the stream before it.
/// @throws Error if the layer shares keys in another way, has fewer heads or has none
AttentionNumbers layerNumbers(const SiteInputs& inputs, const AttentionExtents& extents);

/// Whether an attention mixes the rows of the residual stream itself, so that its input is such rows.
bool readsStream(const AttentionSpec& spec);

} // namespace attn
