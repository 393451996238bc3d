#include "engine/ops/host_product.h"

#include "engine/host/compact.h"
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

/// Rows [n, nEnd) of compact weights, widened a few at a time for all rows of x.
void HostProduct::wide(int64_t rows, const float* x, const std::byte* w, float* out, int64_t n, int64_t nEnd) const {
    constexpr int64_t kFloats = 1 << 16; // that stay in the cache
    const int64_t terms = K[0], each = std::clamp<int64_t>(kFloats / terms, 16, 256);
    thread_local std::vector<float> widened;
    widened.resize(static_cast<size_t>(each * terms));
    for (int64_t at = n; at < nEnd; at += each) {
        const int64_t count = std::min(each, nEnd - at);
        for (int64_t row = 0; row < count; ++row)
            host::widen(storage, terms, w + (at + row) * storedRow(storage, terms).bytes, widened.data() + row * terms);
        host::product({rows, count, terms}, {x, terms}, {widened.data(), terms, true}, out + at, stride, scale);
    }
}

/// One pair of rows of x and weights, into rows [m, mEnd) and columns [n, nEnd) of the output.
void HostProduct::term(size_t pair, std::span<float* const> operands, float* out, int64_t m, int64_t mEnd, int64_t n,
                       int64_t nEnd) const {
    const int64_t terms = K[pair], wStride = padded(isTransposed ? terms : N);
    const float *x = operands[2 * pair] + m * padded(terms), *w = operands[2 * pair + 1];
    float* to = out + m * stride;
    if (storage != Storage::F32) {
        wide(mEnd - m, x, reinterpret_cast<const std::byte*>(w), to, n, nEnd);
    } else {
        host::product({mEnd - m, nEnd - n, terms}, {x, padded(terms)},
                      {w + (isTransposed ? n * wStride : n), wStride, isTransposed}, to + n, stride, scale,
                      pair == 0 ? 0 : 1);
    }
}

void HostProduct::run(int64_t rows, std::span<float* const> operands, float* out, const host::Finish& finish,
                      host::Pool& pool) const {
    if (rows <= 0) return;
    const bool isSkinny = isTransposed && rows <= host::kMostSkinnyRows;
    const host::SkinnyProduct skinny{.rows = rows,
                                     .K = K[0],
                                     .x = operands[0],
                                     .w = operands[1],
                                     .out = out,
                                     .xStride = padded(K[0]),
                                     .wStride = padded(K[0]),
                                     .outStride = stride,
                                     .scale = scale};
    thread_local host::CompactRows ofThisThread;
    host::CompactRows& compactRows = ofThisThread; // all threads read those of the caller
    if (isSkinny && storage != Storage::F32) host::prepareRows(skinny, storage, compactRows);
    const auto block = [&](int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) {
        if (isSkinny && storage == Storage::F32)
            host::skinnyProduct(skinny, n, nEnd);
        else if (isSkinny)
            host::compactProduct(skinny, storage, compactRows, reinterpret_cast<const std::byte*>(skinny.w), n, nEnd);
        else
            for (size_t pair = 0; pair < K.size(); ++pair) term(pair, operands, out, m, mEnd, n, nEnd);
        const int64_t end = nEnd == N ? stride : nEnd; // the padding too
        for (int64_t row = m; row < mEnd; ++row) std::fill(out + row * stride + nEnd, out + row * stride + end, 0.0f);
        if (finish.bias != nullptr || finish.argument != nullptr || finish.residual != nullptr ||
            finish.activation != Activation::None)
            host::finish(mEnd - m, end - n, stride, out + m * stride + n, advanced(finish, m * stride + n, n));
    };
    int64_t terms = 0;
    for (int64_t each : K) terms += each;
    const int64_t least = kWork / std::max<int64_t>(terms * std::min(rows, N), 1) + 1;
    if (storage == Storage::F32 && (rows >= N || rows >= kBlock))
        pool.ranges(rows, std::max<int64_t>(least, 8), 8, [&](int64_t begin, int64_t end) {
            for (int64_t m = begin; m < end; m += kBlock) block(m, std::min(m + kBlock, end), 0, N);
        });
    else if (isSkinny) // as fast as the weights are read
        pool.shares(N, std::max<int64_t>(least, 16), 16,
                    [&](int64_t begin, int64_t end) { block(0, rows, begin, end); });
    else
        pool.ranges(N, std::max<int64_t>(least, 16), 16,
                    [&](int64_t begin, int64_t end) { block(0, rows, begin, end); });
}

} // namespace attn
