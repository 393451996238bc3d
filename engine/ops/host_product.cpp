#include "engine/ops/host_product.h"

#include "engine/graph/op.h"
#include "engine/host/compact.h"
#include "engine/host/product.h"
#include "engine/host/rows.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr int64_t kBlock = 128;    // rows that are finished while their product is in the cache
constexpr int64_t kWork = 1 << 16; // multiply-adds that make another thread worthwhile
constexpr int64_t kPanel = 48;     // columns: oneDNN multiplies three vectors of 16 floats at once
constexpr int64_t kTall = 384;     // rows per thread that justify its own copy of the weights
constexpr int64_t kHeight = 24;    // oneDNN multiplies 6 or 8 rows at once
constexpr int64_t kFours = 2;      // up to this many times kMostSkinnyRows, weights are not copied

int64_t padded(int64_t columns) { return (columns + 3) / 4 * 4; }

/// The length of each of `parts` equal parts, as a multiple of `multiple`.
int64_t lengthOfParts(int64_t count, int64_t parts, int64_t multiple) {
    return (count + parts * multiple - 1) / (parts * multiple) * multiple;
}

/// The finish for the part of the output that begins at float `offset`, in column `column`.
host::Finish advanced(host::Finish finish, int64_t offset, int64_t column) {
    if (finish.bias != nullptr) finish.bias += column;
    if (finish.argument != nullptr) finish.argument += offset;
    if (finish.slopeAt != nullptr) finish.slopeAt += offset;
    if (finish.residual != nullptr) finish.residual += offset;
    return finish;
}

} // namespace

/// Writes the padding of rows [m, mEnd) and columns [n, nEnd) of the output, whose products exist, and finishes them.
void HostProduct::finishBlock(const Call& call, int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) const {
    const int64_t end = nEnd == N ? stride : nEnd; // the padding too
    for (int64_t row = m; row < mEnd; ++row)
        std::fill(call.out + row * stride + nEnd, call.out + row * stride + end, 0.0f);
    const host::Finish& by = call.finish;
    if (by.bias != nullptr || by.argument != nullptr || by.residual != nullptr || by.activation != Activation::None)
        host::finish(mEnd - m, end - n, stride, call.out + m * stride + n, advanced(by, m * stride + n, n));
}

/// Whether this many rows use the kernels for few rows.
bool HostProduct::hasFew(int64_t rows) const {
    return isTransposed && std::max(rows, mostRows) <= kFours * host::kMostSkinnyRows;
}

/// Multiplies weights [N,K] of one storage with a few rows, about as fast as the weights can be read.
void HostProduct::few(int64_t rows, std::span<const HostProduct> products, std::span<const Call> calls,
                      host::Pool& pool) {
    constexpr int64_t kFour = host::kMostSkinnyRows, kCached = 1 << 16; // bytes of weights that all rows read in turn
    constexpr int64_t kColumns = 16;                                    // the least that a thread computes
    const Storage storage = products[0].storage;
    const float* x = calls[0].operands[0];
    const int64_t terms = products[0].K[0], bytes = storedRow(storage, terms).bytes;
    thread_local std::array<host::CompactRows, kFours> ofThisThread;
    std::array<host::CompactRows, kFours>& compact = ofThisThread; // all threads read those of the caller
    std::array<host::SkinnyProduct, kFours> skinny;
    const auto fours = static_cast<size_t>((rows + kFour - 1) / kFour);
    for (size_t i = 0; i < fours; ++i) {
        const int64_t m = static_cast<int64_t>(i) * kFour;
        skinny[i] = {.rows = std::min(kFour, rows - m),
                     .K = terms,
                     .x = x + m * padded(terms),
                     .xStride = padded(terms),
                     .wStride = padded(terms)};
        if (storage != Storage::F32) host::prepareRows(skinny[i], storage, compact[i]);
    }
    const auto multiply = [&](const HostProduct& product, const Call& call, int64_t n, int64_t nEnd) {
        const float* w = call.operands[1];
        if (storage == Storage::F32 && fours > 1) { // oneDNN takes up to eight rows at once
            host::product({rows, nEnd - n, terms}, {x, padded(terms)}, {w + n * padded(terms), padded(terms), true},
                          call.out + n, product.stride, product.scale);
            return;
        }
        for (size_t i = 0; i < fours; ++i) {
            host::SkinnyProduct of = skinny[i];
            of.w = w;
            of.out = call.out + static_cast<int64_t>(i) * kFour * product.stride;
            of.outStride = product.stride;
            of.scale = product.scale;
            if (storage == Storage::F32)
                host::skinnyProduct(of, n, nEnd);
            else
                host::compactProduct(of, storage, compact[i], reinterpret_cast<const std::byte*>(w), n, nEnd);
        }
    };
    std::array<int64_t, Op::kMaxJoined + 1> begins{}; // of the products' columns, among those of all
    for (size_t i = 0; i < products.size(); ++i)
        begins[i + 1] = begins[i] + (products[i].N + kColumns - 1) / kColumns * kColumns;
    const int64_t all = begins[products.size()], least = kWork / std::max<int64_t>(terms * std::min(rows, all), 1) + 1;
    const bool isWhole = fours == 1 || storage == Storage::F32;
    pool.shares(all, std::max(least, kColumns), kColumns, [&](int64_t begin, int64_t end) {
        for (size_t i = 0; i < products.size(); ++i) {
            const int64_t first = std::max(begin - begins[i], int64_t{0}),
                          last = std::min(end - begins[i], products[i].N);
            if (first >= last) continue;
            const int64_t step = isWhole ? last - first : std::max<int64_t>(kCached / bytes, 1);
            for (int64_t n = first; n < last; n += step) multiply(products[i], calls[i], n, std::min(n + step, last));
            products[i].finishBlock(calls[i], 0, rows, first, last);
        }
    });
}

/// Multiplies weights [N,K] with many rows. A panel of weights is converted to floats [K, kPanel], which oneDNN
/// multiplies without another copy, at the same speed for any number of rows.
void HostProduct::panels(int64_t rows, const Call& call, host::Pool& pool) const {
    const float *x = call.operands[0], *w = call.operands[1];
    const int64_t terms = K[0], bytes = storedRow(storage, terms).bytes, threads = pool.threads();
    const bool isTall = rows >= kTall * threads;
    const int64_t multiple = isTall ? 1 : threads, rounds = (N + multiple * kPanel - 1) / (multiple * kPanel);
    const int64_t width = lengthOfParts(N, rounds * multiple, 16), wide = (N + width - 1) / width;
    const int64_t parts = isTall ? threads : std::clamp<int64_t>(threads / wide, 1, (rows + kBlock - 1) / kBlock);
    const int64_t height = lengthOfParts(rows, parts, kHeight), each = kWork / (width * height * terms) + 1;
    const int64_t together = isTall ? wide : each;
    pool.run((wide * parts + together - 1) / together, [&](int64_t task) {
        for (int64_t i = task * together; i < std::min((task + 1) * together, wide * parts); ++i) {
            const int64_t m = i / wide * height, mEnd = std::min(m + height, rows);
            const int64_t n = i % wide * width, nEnd = std::min(n + width, N);
            thread_local std::vector<float> panel;
            panel.resize(static_cast<size_t>(terms * kPanel));
            host::widenTransposed(storage, nEnd - n, terms, reinterpret_cast<const std::byte*>(w) + n * bytes,
                                  panel.data(), kPanel);
            host::steadyProduct({mEnd - m, nEnd - n, terms}, {x + m * padded(terms), padded(terms)},
                                {panel.data(), kPanel}, call.out + m * stride + n, stride, scale);
            finishBlock(call, m, mEnd, n, nEnd);
        }
    });
}

void HostProduct::run(int64_t rows, const Call& call, host::Pool& pool) const {
    if (rows <= 0) return;
    if (hasFew(rows)) return few(rows, {this, 1}, {&call, 1}, pool);
    if (isTransposed) return panels(rows, call, pool);
    const auto block = [&](int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) {
        for (size_t pair = 0; pair < K.size(); ++pair)
            host::product({mEnd - m, nEnd - n, K[pair]},
                          {call.operands[2 * pair] + m * padded(K[pair]), padded(K[pair])},
                          {call.operands[2 * pair + 1] + n, padded(N)}, call.out + m * stride + n, stride, scale,
                          pair == 0 ? 0 : 1);
        finishBlock(call, m, mEnd, n, nEnd);
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

void HostProduct::runTogether(int64_t rows, std::span<const HostProduct> products, std::span<const Call> calls,
                              host::Pool& pool) {
    if (rows <= 0) return;
    const bool haveOneStorage = std::ranges::all_of(
        products, [&](const HostProduct& product) { return product.storage == products[0].storage; });
    if (haveOneStorage && std::ranges::all_of(products, [&](const HostProduct& each) { return each.hasFew(rows); }))
        return few(rows, products, calls, pool);
    for (size_t i = 0; i < products.size(); ++i) products[i].run(rows, calls[i], pool);
}

} // namespace attn
