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

/// A product in which each row of out has the same bits for any number of rows. For some numbers of rows, the library
/// sums the last ones in another order, and for few rows all of them; those are multiplied beside rows of zeros.
/// @param a not transposed  @param size N more than 1
void steadyProduct(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale = 1,
                   float keep = 0);

/// The least number of columns, not below `count`, for which each column of such a product has the same bits beside any
/// others.
constexpr int64_t steadyColumns(int64_t count) { return count <= 128 ? 128 : (count + 15) / 16 * 16; }
/// The least number of terms, not below `count`, to which zeros can be added without a change of bits; for up to 128
/// terms.
constexpr int64_t steadyTerms(int64_t count) { return (count + 15) / 16 * 16; }

} // namespace attn::host
