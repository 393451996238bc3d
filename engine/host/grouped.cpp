#include "engine/host/grouped.h"

#include "engine/host/ordered.h"
#include "engine/host/product.h"

namespace attn::host {
namespace {

constexpr int64_t kColumns = 64; // of a task

int64_t padded(int64_t columns) { return (columns + 3) / 4 * 4; }
int64_t blocksOf(int64_t columns) { return (columns + kColumns - 1) / kColumns; }

} // namespace

void groupedProduct(const Grouped& of, int64_t K, int64_t N, bool isPlain, const float* x, const float* w, float* out,
                    Pool& pool) {
    const int64_t blocks = blocksOf(N), xStride = padded(K), stride = padded(N);
    std::fill_n(out, of.begin(0) * stride, 0.0f);
    int64_t last = of.begin(0); // where the groups end
    for (int64_t group = 0; group < of.groups; ++group) last = std::max(last, of.end(group));
    std::fill_n(out + last * stride, (of.rows - last) * stride, 0.0f);
    pool.run(of.groups * blocks, [&](int64_t task) {
        const int64_t group = task / blocks, n = task % blocks * kColumns, end = std::min(n + kColumns, N),
                      begin = of.begin(group), count = of.end(group) - begin;
        if (count == 0) return;
        const float* own = isPlain ? w + group * K * stride + n : w + (group * N + n) * xStride;
        const Panels panels(K, end - n, own, isPlain ? stride : xStride, !isPlain);
        orderedProduct({.M = count,
                        .N = end - n,
                        .K = K,
                        .a = x + begin * xStride,
                        .aStride = xStride,
                        .b = panels.columns(),
                        .out = out + begin * stride + n,
                        .stride = stride});
        if (end == N)
            for (int64_t row = begin; row < begin + count; ++row)
                std::fill(out + row * stride + N, out + (row + 1) * stride, 0.0f);
    });
}

void groupedSquare(const Grouped& of, int64_t N, int64_t K, const float* a, const float* b, float* out, Pool& pool) {
    const int64_t blocks = blocksOf(N), aStride = padded(N), stride = padded(K);
    pool.run(of.groups * blocks, [&](int64_t task) {
        const int64_t group = task / blocks, n = task % blocks * kColumns, end = std::min(n + kColumns, N),
                      begin = of.begin(group), count = of.end(group) - begin;
        float* own = out + (group * N + n) * stride;
        std::fill_n(own, (end - n) * stride, 0.0f);
        if (count > 0)
            product({end - n, K, count}, {a + begin * aStride + n, aStride, true}, {b + begin * stride, stride}, own,
                    stride);
    });
}

} // namespace attn::host
