#include "engine/host/ordered.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/ordered.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

/// Computes some rows and `wide` vectors of columns, whose sums stay in registers. @param columns Whole, or the
/// remainder
template <int rows, int wide, typename Access>
HWY_ATTR HWY_INLINE void tile(const OrderedProduct& p, const float* a, const float* b, float* out,
                              const Access (&columns)[wide]) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    Vector sums[rows][wide];
    for (int m = 0; m < rows; ++m)
        for (int v = 0; v < wide; ++v)
            sums[m][v] = p.keeps ? columns[v].load(out + m * p.stride + v * lanes) : hn::Zero(Floats());
    for (int64_t k = 0; k < p.K; ++k) {
        Vector terms[wide];
        for (int v = 0; v < wide; ++v) terms[v] = columns[v].load(b + k * p.b.step + v * lanes);
        for (int m = 0; m < rows; ++m) {
            const Vector factor = hn::Set(Floats(), a[m * p.aStride + k]);
            for (int v = 0; v < wide; ++v) sums[m][v] = hn::MulAdd(factor, terms[v], sums[m][v]);
        }
    }
    for (int m = 0; m < rows; ++m)
        for (int v = 0; v < wide; ++v) columns[v].store(sums[m][v], out + m * p.stride + v * lanes);
}

/// Computes all rows of some columns.
template <int wide, typename Access>
HWY_ATTR HWY_INLINE void tiles(const OrderedProduct& p, const float* b, int64_t n, const Access (&columns)[wide]) {
    constexpr int kRows = HWY_MAX_BYTES == 64 ? 8 : 6; // as many sums as fit in the registers
    const auto at = [&](int64_t m, auto rows) HWY_ATTR {
        tile<decltype(rows)::value, wide>(p, p.a + m * p.aStride, b, p.out + m * p.stride + n, columns);
    };
    int64_t m = 0;
    if constexpr (wide == 2) {
        for (; m + kRows <= p.M; m += kRows) at(m, std::integral_constant<int, kRows>());
        for (; m + 4 <= p.M; m += 4) at(m, std::integral_constant<int, 4>());
    }
    for (; m < p.M; ++m) at(m, std::integral_constant<int, 1>());
}

void orderedProductV(const OrderedProduct& p) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    const auto columnsFrom = [&](int64_t n) {
        return p.b.data + n / Columns::kPanelColumns * p.b.panel + n % Columns::kPanelColumns;
    };
    int64_t n = 0;
    if (p.M < 4 && p.b.panel == Columns::kPanelColumns) // with few rows, the columns are adjacent
        for (const Whole w; n + 8 * lanes <= p.N; n += 8 * lanes)
            tiles<8, Whole>(p, columnsFrom(n), n, {w, w, w, w, w, w, w, w});
    for (; n < p.N; n += 2 * lanes) {
        if (n + 2 * lanes <= p.N) {
            tiles<2, Whole>(p, columnsFrom(n), n, {Whole(), Whole()});
            continue;
        }
        const auto part = [&](int64_t first) HWY_ATTR {
            return Part{hn::FirstN(Floats(), static_cast<size_t>(std::clamp<int64_t>(p.N - first, 0, lanes)))};
        };
        tiles<2, Part>(p, columnsFrom(n), n, {part(n), part(n + lanes)});
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
