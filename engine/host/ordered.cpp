#include "engine/host/ordered.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/ordered.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

constexpr int kWide = 2; // vectors of columns at once

/// Some rows and up to kWide vectors of columns, whose sums stay in registers. @param columns Whole, or what is left
template <int rows, typename Access>
HWY_ATTR HWY_INLINE void tile(const OrderedProduct& p, const float* a, const float* b, float* out,
                              const Access (&columns)[kWide]) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    Vector sums[rows][kWide];
    for (int m = 0; m < rows; ++m)
        for (int v = 0; v < kWide; ++v)
            sums[m][v] = p.keeps ? columns[v].load(out + m * p.stride + v * lanes) : hn::Zero(Floats());
    for (int64_t k = 0; k < p.K; ++k) {
        Vector terms[kWide];
        for (int v = 0; v < kWide; ++v) terms[v] = columns[v].load(b + k * p.b.step + v * lanes);
        for (int m = 0; m < rows; ++m) {
            const Vector factor = hn::Set(Floats(), a[m * p.aStride + k]);
            for (int v = 0; v < kWide; ++v) sums[m][v] = hn::MulAdd(factor, terms[v], sums[m][v]);
        }
    }
    for (int m = 0; m < rows; ++m)
        for (int v = 0; v < kWide; ++v) columns[v].store(sums[m][v], out + m * p.stride + v * lanes);
}

template <typename Access>
HWY_ATTR HWY_INLINE void rowsOfTiles(const OrderedProduct& p, const float* b, int64_t n,
                                     const Access (&columns)[kWide]) {
    constexpr int kRows = HWY_MAX_BYTES == 64 ? 8 : 6; // as many sums as there are registers for
    int64_t m = 0;
    for (; m + kRows <= p.M; m += kRows) tile<kRows>(p, p.a + m * p.aStride, b, p.out + m * p.stride + n, columns);
    for (; m + 4 <= p.M; m += 4) tile<4>(p, p.a + m * p.aStride, b, p.out + m * p.stride + n, columns);
    for (; m < p.M; ++m) tile<1>(p, p.a + m * p.aStride, b, p.out + m * p.stride + n, columns);
}

void orderedProductV(const OrderedProduct& p) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    for (int64_t n = 0; n < p.N; n += kWide * lanes) {
        const float* b = p.b.data + n / Columns::kPanelColumns * p.b.panel + n % Columns::kPanelColumns;
        if (n + kWide * lanes <= p.N) {
            rowsOfTiles<Whole>(p, b, n, {Whole(), Whole()});
            continue;
        }
        const auto part = [&](int64_t first) HWY_ATTR {
            return Part{hn::FirstN(Floats(), static_cast<size_t>(std::clamp<int64_t>(p.N - first, 0, lanes)))};
        };
        rowsOfTiles<Part>(p, b, n, {part(n), part(n + lanes)});
    }
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(orderedProductV);

void orderedProduct(const OrderedProduct& product) { HWY_DYNAMIC_DISPATCH(orderedProductV)(product); }

Panels::Panels(int64_t K, int64_t N, const float* rows, int64_t stride, bool isTransposed) : K_(K) {
    constexpr int64_t kColumns = Columns::kPanelColumns;
    data_.assign(static_cast<size_t>((N + kColumns - 1) / kColumns * kColumns * K), 0.0f);
    for (int64_t n = 0; n < N; n += kColumns) {
        const int64_t count = std::min(kColumns, N - n);
        float* panel = data_.data() + n * K;
        for (int64_t k = 0; k < K; ++k)
            for (int64_t column = 0; column < count; ++column)
                panel[k * kColumns + column] =
                    isTransposed ? rows[(n + column) * stride + k] : rows[k * stride + n + column];
    }
}

} // namespace attn::host
#endif
