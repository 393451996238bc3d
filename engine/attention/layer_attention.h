#pragma once

#include "engine/attention/attention_spec.h"

namespace attn {

/// How query heads share keys and values: G = H is multi-head, 1 < G < H grouped-query, G = 1 multi-query.
/// @source Vaswani et al. 2017, arXiv:1706.03762; Shazeer 2019, arXiv:1911.02150; Ainslie et al. 2023, arXiv:2305.13245
struct HeadLayout {
    int64_t heads = 1;
    int64_t keyValueHeads = 1;
    int64_t width = 1; ///< D
    bool operator==(const HeadLayout&) const = default;
};

/// The attention of a layer: its composition, and what a file says about its projections.
struct LayerAttention {
    AttentionSpec spec;
    int64_t headWidth = 1; ///< D
    bool queryKeyValueBias = false;
    bool outputBias = false;

    HeadLayout heads() const;
    /// The factor of q.k in the scores; 1 / sqrt(D) where the scores are no such products.
    double scoreScale() const;
    bool operator==(const LayerAttention&) const = default;
};

/// A spec of plain heads with softmax of scaled dot products. @param mask see MaskExpression
AttentionSpec plainAttention(int64_t heads, int64_t keyValueHeads, MaskExpression mask);

} // namespace attn
