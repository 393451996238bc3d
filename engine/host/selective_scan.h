#pragma once

#include "engine/host/linear_scan.h"

// State spaces whose step, input and output depend on the row: each of W channels has N numbers of state.

namespace attn::host {

/// The inputs of both directions. Rows of channels are [B,T,W], of states [B,T,N], and states are stored as [N,W].
struct SelectiveScan {
    SequenceRows rows{};
    int64_t N = 0;
    const float *x = nullptr, *step = nullptr, *decay = nullptr, *in = nullptr, *out = nullptr;

    static constexpr int64_t kChunk = 32; ///< rows, before each of which the state is kept
    int64_t chunks() const { return (rows.T + kChunk - 1) / kChunk; }
    int64_t stateStride() const { return (N + 3) / 4 * 4; } ///< of in and out
};

/// @param state,last [B,N,W]  @param states receives the state before each chunk: [B,chunks,N,W]
void selectiveScan(const SelectiveScan& of, const float* state, float* y, float* last, float* states, Pool& pool);

struct SelectiveBackward {
    const float *states = nullptr, *dy = nullptr, *dLast = nullptr;
    float *dx = nullptr, *dStep = nullptr;     ///< [B,T,W]
    float* dDecay = nullptr;                   ///< of each sequence: [B,N,W]
    float *dInto = nullptr, *dOutOf = nullptr; ///< [B,T,N]
    float* dState = nullptr;                   ///< [B,N,W]
};
void selectiveScanBackward(const SelectiveScan& of, const SelectiveBackward& data, Pool& pool);

} // namespace attn::host
