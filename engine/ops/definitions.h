#pragma once

#include "engine/graph/op.h"

// One definition per op file; the catalogue lists them.

namespace attn {

extern const Op kEmbedding, kMatmul, kAdd, kMultiply, kSwiglu, kActivate, kLayerNorm, kRmsNorm, kSoftmax, kRotary,
    kAttentionScores, kAttentionMix, kFusedAttention, kAttentionRowStatistics, kPatternTile, kLensStatistics, kLensTile,
    kLensDistances, kLastRow, kReshape, kAssign, kTopK, kTensorStatistics, kPagedAttention, kAssignRows;

// For gradients and training.
extern const Op kScale, kSum, kExpand, kMatmulPlain, kMatmulTransposed, kActivateGradient, kSwigluGradient,
    kNormGradient, kNormWeightGradient, kSoftmaxGradient, kEmbeddingGradient, kAttentionMixTransposed,
    kFusedAttentionGradient, kCrossEntropy, kCrossEntropyGradient, kDropout, kSquareNorms, kClipFactor, kAdam, kSgd,
    kAccumulate, kNarrow, kWiden;

// For tensors in general.
extern const Op kBatchedMatmul, kPermute, kSlice, kPad, kConcatenate, kBroadcast, kUnary, kUnaryGradient, kBinary,
    kSelect, kToReal, kToInteger, kStopGradient, kReduce, kCumulativeSum, kTake, kPut, kArgmax, kSortOrder,
    kInverseOrder, kLargestColumns, kDiagonals, kUndiagonals;

// For composed attention.
extern const Op kBlockAttention, kBlockAttentionGradient, kBlockAttentionBiasGradient, kBucketAttention,
    kBucketAttentionGradient, kClusterAttention, kClusterAttentionGradient, kChannelMean;

// For sequences that are read row after row.
extern const Op kScan, kScanGradient, kConvolve, kConvolveInputGradient, kConvolveWeightGradient, kLinearScan,
    kLinearScanGradient, kSelectiveScan, kSelectiveScanGradient, kGroupedMatmul, kGroupedMatmulWeightGradient;

} // namespace attn
