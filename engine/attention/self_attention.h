#pragma once

#include "engine/attention/layer_attention.h"

#include <string>

namespace attn {

/// A layer's rows regrouped into short sequences, each of which attends within itself: windows of a grid.
struct RowGroups {
    Tensor order;       ///< I32 [groups length]: which row of an image stands at each place; -1: zeros, that are seen
    Tensor places;      ///< I32 [rows of an image]: where each row went
    Tensor visible;     ///< [groups,1,length,length]: 1 where a place sees another; null: everywhere
    int64_t groups = 1; ///< of each image
    int64_t length = 1;
};

/// Where a layer's attention sits in a graph.
struct AttentionSite {
    std::string prefix;                ///< "blocks.0.attn"
    std::string weights{};             ///< AttentionFlow::weights
    Tensor input;                      ///< [T,C], normalised
    Tensor residual;                   ///< [T,C], added to the output
    Tensor queryPosition;              ///< I32 [T]
    Tensor keyPosition;                ///< I32 [S], of the cache after this step's write
    Tensor rotaryTable;                ///< [P,R]; null without rotary positions
    Tensor outputScale;                ///< [C], on what is added (LayerScale); null for none
    int64_t cacheCapacity = 0;         ///< 0: no cache, keys and values are this step's
    int64_t sequence = 0;              ///< AttentionRule::sequence
    const RowGroups* groups = nullptr; ///< for composed attention; null: each sequence is one
    bool recordsQueries = false;       ///< also keep q in a cache, for views
};

/// What a layer's attention adds to a graph.
struct AttentionNodes {
    Tensor output;          ///< residual + added, [T,C]
    Tensor added;           ///< z . W_O, scaled; costs nothing unless used
    AttentionInputs cached; ///< q of the cache when recorded, else of this step; k and v of the cache
    std::vector<std::pair<std::string, Tensor>> updates; ///< state writes that every plan must request
};

/// Self-attention with a key/value cache. The main path is the fused kernel; scores and pattern are side branches that
/// exist only when their probes are requested, computed from the same q and k.
///
/// Probes: hook_q, hook_k, hook_v (before rotary), hook_rot_q, hook_rot_k, hook_attn_scores, hook_pattern, hook_z.
AttentionNodes selfAttention(const LayerAttention& spec, const AttentionSite& site);

/// What a sublayer adds to the stream by its last weights, and the sum: z . W + b, times a scale for each feature.
struct SublayerNodes {
    Tensor added;  ///< [T,C]
    Tensor output; ///< residual + added; null without a residual
};
/// @param x        [T,K]
/// @param weight   [C,K]
/// @param bias     [C]
/// @param scale    [C], or null. @source Touvron et al. 2021, "Going deeper with Image Transformers", arXiv:2103.17239
/// @param residual [T,C], or null
/// @param probe    name of what is added
SublayerNodes joinStream(Tensor x, Tensor weight, std::optional<Tensor> bias, Tensor scale, Tensor residual,
                         const std::string& probe);

/// Cosines then sines of every position. @return [positions, R] dense
std::vector<float> rotaryTableValues(const RotaryPosition& rotary, int64_t positions);

} // namespace attn
