#pragma once

#include "engine/attention/layer_attention.h"

#include <string>

namespace attn {

/// A layer's rows regrouped into short sequences that attend only within themselves, such as the windows of a grid.
struct RowGroups {
    Tensor order;       ///< I32 [groups length]: the row of the picture at each place; -1: a visible row of zeros
    Tensor places;      ///< I32 [rows of a picture]: the place of each row
    Tensor visible;     ///< [groups,1,length,length]: 1 where a place sees another; null: all see all
    int64_t groups = 1; ///< per picture
    int64_t length = 1;
};

/// The place of a layer's attention in a graph.
struct AttentionSite {
    std::string prefix;                ///< "blocks.0.attn"
    std::string weights{};             ///< see AttentionFlow::weights
    Tensor input;                      ///< [T,C], normalised
    Tensor residual;                   ///< [T,C], added to the output
    Tensor queryPosition;              ///< I32 [T]
    Tensor keyPosition;                ///< I32 [S]: of the keys in the cache after this step's write
    Tensor rotaryTable;                ///< [P,R]; null without rotary positions
    Tensor outputScale;                ///< [C]: factor of what is added (LayerScale); null for none
    int64_t cacheCapacity = 0;         ///< in keys; 0: no cache, only this step's keys and values exist
    int64_t keys = 0;                  ///< of a composed step with a cache: S, the number of keys that it reads
    int64_t sequence = 0;              ///< see AttentionRule::sequence
    int64_t reach = 0;                 ///< unless 0: a key this far before a query, or farther, is padding
    const RowGroups* groups = nullptr; ///< for composed attention; null: each sequence is one group
    bool recordsQueries = false;       ///< whether views need more than the next token: q, or k and v beside a state
    bool isFormed = false;             ///< whether composed attention forms every pattern, even if it can run without
};

/// The nodes that a layer's attention adds to a graph.
struct AttentionNodes {
    Tensor output;          ///< residual + added, [T,C]
    Tensor added;           ///< z . W_O + b_O, scaled; costs nothing unless used
    AttentionInputs cached; ///< k and v of the cache; q of the cache if recorded, else of this step
    std::vector<std::pair<std::string, Tensor>> updates; ///< state writes that every plan must request
};

/// Builds self-attention with a key/value cache. The main path is the fused kernel. Scores and pattern are side
/// branches, computed from the same q and k when their probes are requested.
///
/// Probes: hook_q, hook_k, hook_v (before rotary), hook_rot_q, hook_rot_k, hook_attn_scores, hook_pattern, hook_z.
AttentionNodes selfAttention(const LayerAttention& spec, const AttentionSite& site);

/// What a sublayer adds to the residual stream, (x . W + b) times a scale for each feature, and the sum.
struct SublayerNodes {
    Tensor added;  ///< [T,C]
    Tensor output; ///< residual + added; null without a residual
};
/// Multiplies a sublayer's result by its last weight matrix and adds it to the residual stream.
/// @param x        [T,K]
/// @param weight   [C,K]
/// @param bias     [C]
/// @param scale    [C], or null. @source Touvron et al. 2021, "Going deeper with Image Transformers", arXiv:2103.17239
/// @param residual [T,C], or null
/// @param probe    hook name of what is added
SublayerNodes joinStream(Tensor x, Tensor weight, std::optional<Tensor> bias, Tensor scale, Tensor residual,
                         const std::string& probe);

/// The table for rotary(): for each position, R/2 cosines and then R/2 sines. @return [positions, R], without padding
std::vector<float> rotaryTableValues(const RotaryPosition& rotary, int64_t positions);

} // namespace attn
