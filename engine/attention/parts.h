#pragma once

#include "engine/attention/part.h"

// Every part, slot by slot. catalogue.cpp lists them in the order in which a reader should meet them.

namespace attn {

// heads
extern const Part kSingleHead, kMultiHead, kMultiQuery, kGroupedQuery, kSharedQueryKey, kTalkingHeads;

// projections
extern const Part kOneProjection, kGlobalProjections;

// position
extern const Part kNoPosition, kSinusoidalPosition, kLearnedPosition, kShawPosition, kTransformerXlPosition,
    kT5Position, kToeplitzPosition, kRotaryPosition, kAlibiPosition, kDistanceAwarePosition, kSinusoidal2dPosition,
    kLearned2dPosition, kGridBiasPosition, kLogBiasPosition, kUniversalPosition, kEtcPosition, kTupePosition,
    kDependencyTreePosition;

// score
extern const Part kScaledDotScore, kDotScore, kAdditiveScore, kBilinearScore, kCosineScore, kLearnedCosineScore,
    kRandomSynthesizerScore;

// mask, family by family
extern const Part kFullMask, kCausalMask, kPrefixMask, kXlnetMask, kXlnetQueryMask; // order_terms.cpp
extern const Part kWindowMask, kDilatedMask, kGlobalMask, kLongformerMask;          // longformer_terms.cpp
extern const Part kLocal1dMask, kLocal2dMask;                                       // image_transformer_terms.cpp
extern const Part kStridedMask, kFixedMask, kSummaryMask;                           // sparse_transformer_terms.cpp
extern const Part kBlocksMask, kPermutedBlocksMask;                                 // blockwise_terms.cpp
extern const Part kRandomMask, kBigBirdMask;                                        // big_bird_terms.cpp
extern const Part kGlobalToGlobalMask, kGlobalToLongMask, kLongToGlobalMask, kLongToLongMask, kEtcMask, kHardG2lMask,
    kHardEtcMask, kOwnSegmentMask;                                 // etc_terms.cpp
extern const Part kRowMask, kColumnMask, kAxialMask, kShiftedMask; // grid_terms.cpp
extern const Part kPaintedMask;                                    // painted_term.cpp
/// Masks that depend on queries and keys: they have hooks at Stage::Mask instead of rows of bits.
extern const Part kAdaptiveSpanMask, kDynamicSpanMask, kLocalPMask;

// normaliser
extern const Part kSoftmaxNormaliser, kLinearNormaliser, kRandomFeatureNormaliser, kPerformerNormaliser,
    kEfficientNormaliser, kRunningEfficientNormaliser, kXcitNormaliser, kAftNormaliser, kSimpleAftNormaliser,
    kLocalAftNormaliser, kConvolvedAftNormaliser, kLinformerNormaliser, kReformerNormaliser, kRoutingNormaliser,
    kCompressedNormaliser;

// memory
extern const Part kNoMemory, kSegmentMemory, kNearestMemory;

// output
extern const Part kPlainOutput, kTalkingOutput, kGatedOutput;

// mixer
extern const Part kAttentionMixer, kFourierMixer, kMlpMixer, kFastWeightMixer, kDeltaRuleMixer, kElmanMixer, kLstmMixer,
    kGruMixer;

// the block around it: norm, feed-forward, residual, layers
extern const Part kNoNormPart, kLayerNormPart, kRmsNormPart, kScaleNormPart, kFixNormPart;
extern const Part kReluFeedForward, kGeluFeedForward, kSwigluFeedForward;
extern const Part kNoResidual, kPreNormResidual, kLayerScaleResidual, kParallelResidual, kPostNormResidual,
    kResidualPostNorm, kGruGateResidual, kReversibleResidual, kPatchResidual, kAxialResidual;
extern const Part kStackedLayers, kSharedLayers;

} // namespace attn
