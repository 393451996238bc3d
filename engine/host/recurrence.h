#pragma once

#include "engine/host/ordered.h"
#include "engine/host/pool.h"

#include <cstdint>

// Networks that read a sequence row after row and keep a hidden state: forward, and backward through time.

namespace attn {

/// The function of a recurrent network of its gates, its hidden state and R, the recurrent matrix. W is the width of
/// the hidden state. A gate is W numbers, and the gates of a row are adjacent.
enum class Recurrence : uint8_t {
    /// h' = tanh(x + R h). @source Elman 1990, "Finding Structure in Time"
    Elman,
    /// (i, f, g, o) = x + R h; c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c').
    /// @source Hochreiter and Schmidhuber 1997; Gers et al. 2000 (the forget gate f); the order is PyTorch's
    Lstm,
    /// (r, z, n) = x, (p, q, s) = R h, to s of which a bias is added; r' = sigmoid(r + p), z' = sigmoid(z + q),
    /// n' = tanh(n + r' s); h' = (1 - z') n' + z' h.
    /// @source Cho et al. 2014, arXiv:1406.1078, in PyTorch's form: r' multiplies R h instead of h
    Gru
};

namespace host {

/// The sizes of a recurrence, and what both directions read.
struct Recurrent {
    Recurrence kind{};
    int64_t B = 0, T = 0, W = 0;
    const float* state = nullptr;     ///< before the first row: [B,W]
    const float* cell = nullptr;      ///< of an LSTM: [B,W]
    const int32_t* lengths = nullptr; ///< [B]: the rows of each sequence that count; null: all

    int64_t gates() const { return kind == Recurrence::Lstm ? 4 : kind == Recurrence::Gru ? 3 : 1; }
    /// The numbers of a row that are kept for the way back: the gates after their functions, and the cell of an LSTM or
    /// s of a GRU.
    int64_t kept() const { return kind == Recurrence::Elman ? 0 : gates() + 1; }
    int64_t stride() const { return (W + 3) / 4 * 4; }
    int64_t gateStride() const { return (gates() * W + 3) / 4 * 4; }
    int64_t keptStride() const { return (kept() * W + 3) / 4 * 4; }
    int64_t lengthOf(int64_t b) const {
        return lengths == nullptr ? T : lengths[b] < 0 ? 0 : lengths[b] < T ? lengths[b] : T;
    }
};

struct RecurrentForward {
    const float* gates = nullptr;     ///< [B,T,gates W]
    const float* recurrent = nullptr; ///< R, transposed: [W, gates W]
    const float* bias = nullptr;      ///< [W], of a GRU; null for none
    float* hidden = nullptr;          ///< [B,T,W], zeros in rows that do not count
    float* lastState = nullptr;       ///< [B,W]
    float* lastCell = nullptr;        ///< of an LSTM: [B,W]
    float* kept = nullptr;            ///< [B,T,kept W]; null for none
};
void recur(const Recurrent& of, const RecurrentForward& data, Pool& pool);

struct RecurrentBackward {
    const float* recurrent = nullptr; ///< R: [gates W, W]
    const float *hidden = nullptr, *kept = nullptr;
    const float *dHidden = nullptr, *dLastState = nullptr, *dLastCell = nullptr;
    float* dGates = nullptr;     ///< [B,T,gates W]
    float* dState = nullptr;     ///< [B,W]
    float* dCell = nullptr;      ///< of an LSTM: [B,W]
    float* dRecurrent = nullptr; ///< of a GRU, the derivatives by R h: [B,T,gates W]
};
void recurBackward(const Recurrent& of, const RecurrentBackward& data, Pool& pool);

} // namespace host
} // namespace attn
