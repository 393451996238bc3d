#include "engine/ops/catalogue.h"

#include "engine/ops/definitions.h"

#include <array>

namespace attn {

std::span<const Op* const> opCatalogue() {
    static constexpr std::array kOps{&kEmbedding,
                                     &kMatmul,
                                     &kAdd,
                                     &kMultiply,
                                     &kSwiglu,
                                     &kActivate,
                                     &kLayerNorm,
                                     &kRmsNorm,
                                     &kSoftmax,
                                     &kRotary,
                                     &kAttentionScores,
                                     &kAttentionMix,
                                     &kFusedAttention,
                                     &kAttentionRowStatistics,
                                     &kPatternTile,
                                     &kLastRow,
                                     &kReshape,
                                     &kAssign,
                                     &kTopK,
                                     &kScale,
                                     &kSum,
                                     &kExpand,
                                     &kMatmulPlain,
                                     &kMatmulTransposed,
                                     &kActivateGradient,
                                     &kSwigluGradient,
                                     &kNormGradient,
                                     &kNormWeightGradient,
                                     &kSoftmaxGradient,
                                     &kEmbeddingGradient,
                                     &kAttentionMixTransposed,
                                     &kFusedAttentionGradient,
                                     &kCrossEntropy,
                                     &kCrossEntropyGradient,
                                     &kDropout,
                                     &kSquareNorms,
                                     &kClipFactor,
                                     &kAdam,
                                     &kSgd,
                                     &kAccumulate,
                                     &kBatchedMatmul,
                                     &kPermute,
                                     &kSlice,
                                     &kPad,
                                     &kConcatenate,
                                     &kBroadcast,
                                     &kUnary,
                                     &kUnaryGradient,
                                     &kBinary,
                                     &kSelect,
                                     &kToReal,
                                     &kToInteger,
                                     &kStopGradient,
                                     &kReduce,
                                     &kCumulativeSum,
                                     &kTake,
                                     &kPut,
                                     &kArgmax,
                                     &kSortOrder,
                                     &kInverseOrder};
    return kOps;
}

} // namespace attn
