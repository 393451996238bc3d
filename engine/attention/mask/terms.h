#pragma once

#include "engine/attention/part.h"

namespace attn {

// The terms of mask expressions, family by family.

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

} // namespace attn
