#pragma once

#include "engine/host/pool.h"

#include <algorithm>
#include <cstdint>

// Recurrences that are linear in their state: each channel is multiplied by a number of its own and increased by
// another.

namespace attn::host {

/// Rows [B,T,W] of sequences. Only the first `lengths[b]` rows of a sequence count.
struct SequenceRows {
    int64_t B = 0, T = 0, W = 0;
    const int32_t* lengths = nullptr; ///< null: all count

    int64_t stride() const { return (W + 3) / 4 * 4; }
    int64_t lengthOf(int64_t b) const { return lengths == nullptr ? T : std::clamp<int64_t>(lengths[b], 0, T); }
};

struct LinearScan {
    SequenceRows rows{};
    bool isComplex = false; ///< channels 2i and 2i + 1 are the real and the imaginary part of a number
};

/// h[t] = a[t] h[t - 1] + b[t] with h[-1] the state. @param a,b,hidden [B,T,W]  @param state,last [B,W]
void linearScan(const LinearScan& of, const float* a, const float* b, const float* state, float* hidden, float* last,
                Pool& pool);

struct LinearScanBackward {
    const float *a = nullptr, *hidden = nullptr, *state = nullptr, *dHidden = nullptr, *dLast = nullptr;
    float *da = nullptr, *db = nullptr, *dState = nullptr;
};
void linearScanBackward(const LinearScan& of, const LinearScanBackward& data, Pool& pool);

} // namespace attn::host
