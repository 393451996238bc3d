#pragma once

#include "engine/graph/graph.h"

namespace attn {

struct LinearScanInputs {
    Tensor a;               ///< [B,T,W], or a shape that is broadcast to it, such as [W]
    Tensor b;               ///< [B,T,W]
    Tensor state;           ///< [B,W]: h before the first row
    Tensor lengths{};       ///< I32 [B]: how many rows of each sequence count; null: all
    bool isComplex = false; ///< channels 2i and 2i + 1 are the real and the imaginary part of a number
};
struct LinearScanned {
    Tensor hidden; ///< [B,T,W]; zeros in rows that do not count
    Tensor state;  ///< [B,W], after the last row that counts
};
/// The recurrence h[t] = a[t] h[t-1] + b[t] in each channel: running means and decays (RWKV, gated linear recurrences),
/// and diagonal state spaces with real or complex poles (S4D, LRU). Its time grows with T; shaders compute chunks of
/// rows side by side. All inputs but the lengths have gradients. A complex gradient is d loss / d real + i d loss / d
/// imaginary.
/// @throws Error if the shapes do not fit
/// @source Blelloch 1990, "Prefix Sums and Their Applications"; Orvieto et al. 2023, arXiv:2303.06349, section 3
LinearScanned linearScan(const LinearScanInputs& inputs);

} // namespace attn
