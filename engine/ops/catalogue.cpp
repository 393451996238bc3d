#include "engine/ops/catalogue.h"

#include "engine/ops/definitions.h"

#include <array>

namespace attn {

std::span<const Op* const> opCatalogue() {
    static constexpr std::array kOps{&kEmbedding, &kMatmul, &kAdd, &kMultiply, &kSwiglu, &kActivate, &kLayerNorm, &kRmsNorm, &kSoftmax,
                                     &kRotary, &kAttentionScores, &kAttentionMix, &kFusedAttention, &kAttentionRowStatistics,
                                     &kPatternTile, &kLastRow, &kReshape, &kAssign, &kTopK};
    return kOps;
}

} // namespace attn
