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

/// A product in which each row of out has the same bits whatever the number of rows. The library sums the last rows of
/// some numbers of rows, and all rows of a few, in another order, so those are multiplied beside rows of zeros.
/// @param a not transposed  @param size N more than 1
void steadyProduct(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale = 1,
                   float keep = 0);

/// The least number of columns of such a product, not below `count`, whose columns have the same bits whatever columns
/// there are besides.
constexpr int64_t steadyColumns(int64_t count) { return count <= 128 ? 128 : (count + 15) / 16 * 16; }
/// The same of up to 128 terms: whatever terms that are zero there are besides.
constexpr int64_t steadyTerms(int64_t count) { return (count + 15) / 16 * 16; }

} // namespace attn::host
