#pragma once

#include <cstdint>

namespace attn::host {

/// The sizes of a product of matrices: [M,K] . [K,N].
struct ProductSize {
    int64_t M = 0, N = 0, K = 0;
};

/// A row-major factor. If it is transposed, its rows are the other factor's terms.
struct Factor {
    const float* data = nullptr;
    int64_t stride = 0; ///< floats from row to row
    bool isTransposed = false;
};

/// out = scale * a . b + keep * out, on the calling thread. @param stride of out  @param keep 0 or 1
void product(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale = 1, float keep = 0);

} // namespace attn::host
