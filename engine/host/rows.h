#pragma once

#include <cstdint>

// Kernels on single rows. Every row, and every parameter as long as a row, is padded with zeros to a multiple of 4
// floats; the kernels keep the padding of what they write at zero.

namespace attn::host {

/// Normalises a row: layer norm if there is a bias, else root mean square norm. @param w,b [columns]
/// @param statistics receives the mean and 1 / deviation, and two zeros
void norm(int64_t columns, float epsilon, const float* x, const float* w, const float* b, float* y, float* statistics);

/// The gradient of a norm's input. @param residual is added; null for none
void normGradient(int64_t columns, bool centres, const float* x, const float* w, const float* statistics,
                  const float* dy, const float* residual, float* dx);

/// The gradients of a norm's parameters over all rows, for columns [begin, end). @param stride of x and dy
void normWeightGradient(int64_t rows, int64_t stride, int64_t begin, int64_t end, const float* x,
                        const float* statistics, const float* dy, float* dw, float* db);

/// The sums of columns [begin, end) over all rows.
void columnSums(int64_t rows, int64_t stride, int64_t begin, int64_t end, const float* x, float* sums);

/// A row that is masked as a whole becomes zero, and one whose scores are NaN or have overflowed becomes NaN. @param
/// masked values at most this are masked
void softmax(int64_t columns, float masked, const float* x, float* y);
void softmaxGradient(int64_t columns, const float* y, const float* dy, float* dx);

/// The first column whose number is largest. @return -1 if there is no number
int64_t columnOfLargest(int64_t columns, const float* x);

/// The sum of exp(x - most) over all x that are numbers, none of which is above `most`. It is added up in blocks, so
/// that its error does not grow with the number of columns.
double sumOfExponentials(int64_t columns, float most, const float* x);

/// The loss of a row of logits. @param target a column; one outside the row counts no column of its own
float crossEntropy(int64_t columns, const float* logits, int64_t target, float weight, float smoothing);
void crossEntropyGradient(int64_t columns, const float* logits, int64_t target, float factor, float smoothing,
                          float* dLogits);

/// A few rows x against rows [begin, end) of w: out[m][n] = scale * x[m] . w[n]. The rows of w are read once.
struct SkinnyProduct {
    int64_t rows = 1; ///< of x, at most kMostSkinnyRows
    int64_t K = 0;
    const float* x = nullptr;
    const float* w = nullptr;
    float* out = nullptr;
    int64_t xStride = 0, wStride = 0, outStride = 0;
    float scale = 1;
};
inline constexpr int64_t kMostSkinnyRows = 4;
void skinnyProduct(const SkinnyProduct& product, int64_t begin, int64_t end);

/// The weighted sum of rows: out[c] = sum of weights[s] * v[s * stride + c].
void weightedSum(int64_t rows, int64_t columns, const float* weights, const float* v, int64_t stride, float* out);

} // namespace attn::host
