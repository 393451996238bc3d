#include "engine/ops/host_product.h"

#include "engine/graph/op.h"
#include "engine/host/compact.h"
#include "engine/host/product.h"
#include "engine/host/rows.h"

#include <algorithm>
#include <array>

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

/// Completes rows [m, mEnd) and columns [n, nEnd) of the output.
void HostProduct::finish(int64_t m, int64_t mEnd, int64_t n, int64_t nEnd, const Call& call) const {
    const int64_t end = nEnd == N ? stride : nEnd; // the padding too
    for (int64_t row = m; row < mEnd; ++row)
        std::fill(call.out + row * stride + nEnd, call.out + row * stride + end, 0.0f);
    const host::Finish& by = call.finish;
    if (by.bias != nullptr || by.argument != nullptr || by.residual != nullptr || by.activation != Activation::None)
        host::finish(mEnd - m, end - n, stride, call.out + m * stride + n, advanced(by, m * stride + n, n));
}

/// Transposed weights of one storage, as fast as they are read.
void HostProduct::runSkinny(int64_t rows, std::span<const HostProduct> products, std::span<const Call> calls,
                            host::Pool& pool) {
    constexpr int64_t kColumns = 16; // the least that a thread computes
    std::array<host::SkinnyProduct, Op::kMostTogether> skinny;
    std::array<int64_t, Op::kMostTogether + 1> begins{}; // of the products' columns, among those of all
    for (size_t i = 0; i < products.size(); ++i) {
        const HostProduct& product = products[i];
        const int64_t terms = product.K[0], columns = (product.N + kColumns - 1) / kColumns * kColumns;
        skinny[i] = {.rows = rows,
                     .K = terms,
                     .x = calls[i].operands[0],
                     .w = calls[i].operands[1],
                     .out = calls[i].out,
                     .xStride = padded(terms),
                     .wStride = padded(terms),
                     .outStride = product.stride,
                     .scale = product.scale};
        begins[i + 1] = begins[i] + columns;
    }
    const Storage storage = products[0].storage;
    thread_local host::CompactRows ofThisThread;
    host::CompactRows& compactRows = ofThisThread; // all threads read those of the caller
    if (storage != Storage::F32) host::prepareRows(skinny[0], storage, compactRows);
    const int64_t all = begins[products.size()],
                  least = kWork / std::max<int64_t>(skinny[0].K * std::min(rows, all), 1) + 1;
    pool.shares(all, std::max(least, kColumns), kColumns, [&](int64_t begin, int64_t end) {
        for (size_t i = 0; i < products.size(); ++i) {
            const int64_t n = std::max(begin - begins[i], int64_t{0}), nEnd = std::min(end - begins[i], products[i].N);
            if (n >= nEnd) continue;
            if (storage == Storage::F32)
                host::skinnyProduct(skinny[i], n, nEnd);
            else
                host::compactProduct(skinny[i], storage, compactRows, reinterpret_cast<const std::byte*>(skinny[i].w),
                                     n, nEnd);
            products[i].finish(0, rows, n, nEnd, calls[i]);
        }
    });
}

void HostProduct::run(int64_t rows, const Call& call, host::Pool& pool) const {
    if (rows <= 0) return;
    if (isTransposed && rows <= host::kMostSkinnyRows) return runSkinny(rows, {this, 1}, {&call, 1}, pool);
    const auto block = [&](int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) {
        for (size_t pair = 0; pair < K.size(); ++pair) term(pair, call.operands, call.out, m, mEnd, n, nEnd);
        finish(m, mEnd, n, nEnd, call);
    };
    int64_t terms = 0;
    for (int64_t each : K) terms += each;
    const int64_t least = kWork / std::max<int64_t>(terms * std::min(rows, N), 1) + 1;
    if (storage == Storage::F32 && (rows >= N || rows >= kBlock))
        pool.ranges(rows, std::max<int64_t>(least, 8), 8, [&](int64_t begin, int64_t end) {
            for (int64_t m = begin; m < end; m += kBlock) block(m, std::min(m + kBlock, end), 0, N);
        });
    else
        pool.ranges(N, std::max<int64_t>(least, 16), 16,
                    [&](int64_t begin, int64_t end) { block(0, rows, begin, end); });
}

void HostProduct::runTogether(int64_t rows, std::span<const HostProduct> products, std::span<const Call> calls,
                              host::Pool& pool) {
    if (rows <= 0) return;
    const bool haveOneStorage = std::ranges::all_of(
        products, [&](const HostProduct& product) { return product.storage == products[0].storage; });
    if (rows <= host::kMostSkinnyRows && haveOneStorage) return runSkinny(rows, products, calls, pool);
    for (size_t i = 0; i < products.size(); ++i) products[i].run(rows, calls[i], pool);
}

} // namespace attn
