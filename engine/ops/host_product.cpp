#include "engine/ops/host_product.h"

#include "engine/host/product.h"
#include "engine/host/rows.h"

#include <algorithm>

namespace attn {
namespace {

constexpr int64_t kBlock = 128;    // rows whose product is finished while it is in the cache
constexpr int64_t kWork = 1 << 16; // multiply-adds that are worth another thread

int64_t padded(int64_t columns) { return (columns + 3) / 4 * 4; }

/// The same finish for the part of the output that begins at `offset` floats, in column `column`.
host::Finish advanced(host::Finish finish, int64_t offset, int64_t column) {
    if (finish.bias != nullptr) finish.bias += column;
    if (finish.argument != nullptr) finish.argument += offset;
    if (finish.slopeAt != nullptr) finish.slopeAt += offset;
    if (finish.residual != nullptr) finish.residual += offset;
    return finish;
}

} // namespace

void HostProduct::run(int64_t rows, std::span<float* const> operands, float* out, const host::Finish& finish,
                      host::Pool& pool) const {
    if (rows <= 0) return;
    /// Rows [m, mEnd) and columns [n, nEnd).
    const auto block = [&](int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) {
        float* to = out + m * stride + n;
        for (size_t pair = 0; pair < K.size(); ++pair) {
            const int64_t terms = K[pair], wStride = padded(isTransposed ? terms : N);
            const float *x = operands[2 * pair] + m * padded(terms),
                        *w = operands[2 * pair + 1] + (isTransposed ? n * wStride : n);
            if (isTransposed && mEnd - m <= host::kMostSkinnyRows)
                host::skinnyProduct({.rows = mEnd - m,
                                     .K = terms,
                                     .x = x,
                                     .w = w,
                                     .out = to,
                                     .xStride = wStride,
                                     .wStride = wStride,
                                     .outStride = stride,
                                     .scale = scale},
                                    0, nEnd - n);
            else
                host::product({mEnd - m, nEnd - n, terms}, {x, padded(terms)}, {w, wStride, isTransposed}, to, stride,
                              scale, pair == 0 ? 0 : 1);
        }
        const int64_t end = nEnd == N ? stride : nEnd; // the padding too
        for (int64_t row = m; row < mEnd; ++row) std::fill(out + row * stride + nEnd, out + row * stride + end, 0.0f);
        if (finish.bias != nullptr || finish.argument != nullptr || finish.residual != nullptr ||
            finish.activation != Activation::None)
            host::finish(mEnd - m, end - n, stride, to, advanced(finish, m * stride + n, n));
    };
    int64_t terms = 0;
    for (int64_t each : K) terms += each;
    const int64_t least = kWork / std::max<int64_t>(terms * std::min(rows, N), 1) + 1;
    if (rows >= N || rows >= kBlock)
        pool.ranges(rows, std::max<int64_t>(least, 8), 8, [&](int64_t begin, int64_t end) {
            for (int64_t m = begin; m < end; m += kBlock) block(m, std::min(m + kBlock, end), 0, N);
        });
    else
        pool.ranges(N, std::max<int64_t>(least, 16), 16,
                    [&](int64_t begin, int64_t end) { block(0, rows, begin, end); });
}

} // namespace attn
