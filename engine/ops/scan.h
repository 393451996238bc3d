#pragma once

#include "engine/graph/graph.h"
#include "engine/host/recurrence.h"

namespace attn {

/// The inputs of scan(). W is the width of the hidden state, and there are 1 gate (Elman), 4 (LSTM) or 3 (GRU).
struct ScanInputs {
    Tensor gates;     ///< [B,T,gates W]: x . W_input + biases, one big product for all rows
    Tensor recurrent; ///< [gates W, W], the gates in PyTorch's order
    Tensor state;     ///< [B,W]: the hidden state before the first row
    Tensor cell{};    ///< [B,W], of an LSTM
    Tensor bias{};    ///< [W], of a GRU: added to R h in the gate n before r multiplies it; null for none
    Tensor lengths{}; ///< I32 [B]: how many rows of each sequence count; null: all
};
struct Scanned {
    Tensor hidden; ///< [B,T,W]; zeros in rows that do not count
    Tensor state;  ///< [B,W], after the last row that counts
    Tensor cell;   ///< [B,W], of an LSTM
    /// [B,T,kept W]: the gates of each row after their functions, then the cell of an LSTM, or of a GRU R h + bias in
    /// the gate n. Null for an Elman network
    Tensor kept{};
};
/// Runs a recurrent network over the rows of each sequence, with the formulas of Recurrence. The last state may begin
/// the next scan. All inputs but the lengths have gradients, by backpropagation through time.
/// @throws Error if the shapes do not fit
/// @source the formulas of PyTorch's torch.nn.RNN, LSTM and GRU
Scanned scan(Recurrence kind, const ScanInputs& inputs);

} // namespace attn
