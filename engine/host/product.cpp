#include "engine/host/product.h"

#include "engine/system/signals.h"

#include <algorithm>
#include <vector>

#include <oneapi/dnnl/dnnl.h>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn::host {
namespace {

bool prepareThread() {
    shieldFromSignals();
#ifdef _OPENMP
    omp_set_num_threads(1); // otherwise the library would start its own threads beside the pool's
#endif
    return true;
}

} // namespace

void product(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale, float keep) {
    thread_local const bool isPrepared = prepareThread();
    static_cast<void>(isPrepared);
    dnnl_sgemm(a.isTransposed ? 'T' : 'N', b.isTransposed ? 'T' : 'N', size.M, size.N, size.K, scale, a.data, a.stride,
               b.data, b.stride, keep, out, stride);
}

// oneDNN's kernel for AVX2 takes 6 rows at once, and sums remainders of 1 to 3 rows in another order. It cuts the rows
// into 48 and 48, but the last ones into halves. The kernel for AVX-512 and a transposed factor has another order below
// 16 rows. tests/host/product.cpp checks what this relies on.
void steadyProduct(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale, float keep) {
    constexpr int64_t kTogether = 6, kFour = 4, kSixteen = 16, kCut = 48, kUncut = 64;
    const int64_t least = b.isTransposed ? kSixteen : kFour, left = size.M % kTogether;
    if (size.M > kUncut && size.M % kCut != 0) {
        const int64_t cut = size.M / kCut * kCut;
        product({cut, size.N, size.K}, a, b, out, stride, scale, keep);
        return steadyProduct({size.M - cut, size.N, size.K}, {a.data + cut * a.stride, a.stride}, b, out + cut * stride,
                             stride, scale, keep);
    }
    if (size.M >= least && (left == 0 || left >= kFour)) return product(size, a, b, out, stride, scale, keep);
    const int64_t main = size.M < least + kTogether ? 0 : size.M - left, rest = size.M - main;
    if (main > 0) product({main, size.N, size.K}, a, b, out, stride, scale, keep);
    int64_t rows = std::max(rest, least);
    if (rows % kTogether != 0 && rows % kTogether < kFour) rows += kFour - rows % kTogether;
    thread_local std::vector<float> factor, sums;
    factor.assign(static_cast<size_t>(rows * size.K), 0.0f);
    sums.assign(static_cast<size_t>(rows * size.N), 0.0f);
    for (int64_t row = 0; row < rest; ++row) {
        std::copy_n(a.data + (main + row) * a.stride, size.K, factor.data() + row * size.K);
        if (keep != 0) std::copy_n(out + (main + row) * stride, size.N, sums.data() + row * size.N);
    }
    product({rows, size.N, size.K}, {factor.data(), size.K}, b, sums.data(), size.N, scale, keep);
    for (int64_t row = 0; row < rest; ++row)
        std::copy_n(sums.data() + row * size.N, size.N, out + (main + row) * stride);
}

} // namespace attn::host
