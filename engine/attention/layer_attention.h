#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/ops/ops.h"

#include <optional>
#include <vector>

namespace attn {

/// How query heads share keys and values: G = H is multi-head, 1 < G < H grouped-query, G = 1 multi-query.
/// @source Vaswani et al. 2017, arXiv:1706.03762; Shazeer 2019, arXiv:1911.02150; Ainslie et al. 2023, arXiv:2305.13245
struct HeadLayout {
    int64_t heads = 1;
    int64_t keyValueHeads = 1;
    int64_t width = 1; ///< D
    bool operator==(const HeadLayout&) const = default;
};

/// Rotary positions on q and k. Frequencies are data: a scaling rule is another table of them.
/// @source Su et al. 2021, "RoFormer", arXiv:2104.09864
struct RotaryPosition {
    std::vector<double> inverseFrequencies; ///< R/2 angles per position
    bool interleaved = false;               ///< pairs (2i, 2i+1) instead of (i, i + R/2)
    double magnitude = 1;                   ///< factor of cosines and sines (YaRN's attention factor)
    bool operator==(const RotaryPosition&) const = default;
};

/// Everything that defines one layer's attention in a model file: the fused kernel with its cache covers all of it but
/// `spec`.
struct LayerAttention {
    HeadLayout heads;
    std::optional<RotaryPosition> rotary;
    AttentionRule rule;
    bool queryKeyValueBias = false;
    bool outputBias = false;
    /// If set, replaces the attention above by a composition over whole sequences, without a cache. `rotary` and `rule`
    /// are then not used, and `heads` equals the spec's.
    std::optional<AttentionSpec> spec{};
    bool operator==(const LayerAttention&) const = default;
};

} // namespace attn
