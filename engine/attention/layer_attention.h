#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/attention/head_counts.h"

namespace attn {

/// The attention of a layer: its composition, and what a file says about its projections.
struct LayerAttention {
    AttentionSpec spec;
    int64_t headWidth = 1; ///< D
    bool queryKeyValueBias = false;
    bool outputBias = false;

    HeadCounts heads() const { return headCounts(spec); }
    /// The factor of q.k in the scores; 1 / sqrt(D) where the scores are no such products.
    double scoreScale() const;
    bool operator==(const LayerAttention&) const = default;
};

/// A spec of plain heads with softmax of scaled dot products.
AttentionSpec plainAttention(HeadCounts counts, MaskExpression mask);

} // namespace attn
