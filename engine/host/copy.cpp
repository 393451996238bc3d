#include "engine/host/copy.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/copy.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

/// A matrix of 4 x 4 floats.
HWY_ATTR HWY_INLINE void transposeFour(const float* from, int64_t step, float* to, int64_t toStep) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t row = 0; row < 4; ++row)
        for (int64_t column = 0; column < 4; ++column) to[row * toStep + column] = from[row + column * step];
#else
    const hn::FixedTag<float, 4> four;
    const hn::Repartition<double, decltype(four)> pairs;
    const auto a = hn::LoadU(four, from), b = hn::LoadU(four, from + step), c = hn::LoadU(four, from + 2 * step),
               d = hn::LoadU(four, from + 3 * step);
    const auto abLow = hn::BitCast(pairs, hn::InterleaveLower(four, a, b)),
               abHigh = hn::BitCast(pairs, hn::InterleaveUpper(four, a, b)),
               cdLow = hn::BitCast(pairs, hn::InterleaveLower(four, c, d)),
               cdHigh = hn::BitCast(pairs, hn::InterleaveUpper(four, c, d));
    hn::StoreU(hn::BitCast(four, hn::InterleaveLower(pairs, abLow, cdLow)), four, to);
    hn::StoreU(hn::BitCast(four, hn::InterleaveUpper(pairs, abLow, cdLow)), four, to + toStep);
    hn::StoreU(hn::BitCast(four, hn::InterleaveLower(pairs, abHigh, cdHigh)), four, to + 2 * toStep);
    hn::StoreU(hn::BitCast(four, hn::InterleaveUpper(pairs, abHigh, cdHigh)), four, to + 3 * toStep);
#endif
}

void transposeV(int64_t rows, int64_t columns, const float* from, int64_t step, float* to, int64_t toStep) {
    constexpr int64_t kBlock = 16; // floats of a cache line
    for (int64_t r = 0; r < rows; r += kBlock)
        for (int64_t c = 0; c < columns; c += 4) {
            const int64_t lastRow = std::min(r + kBlock, rows), lastColumn = std::min(c + 4, columns);
            int64_t row = r;
            for (; row + 4 <= lastRow && lastColumn == c + 4; row += 4)
                transposeFour(from + row + c * step, step, to + row * toStep + c, toStep);
            for (; row < lastRow; ++row)
                for (int64_t column = c; column < lastColumn; ++column)
                    to[row * toStep + column] = from[row + column * step];
        }
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(transposeV);

void copyRows(const CopiedRow& row, int64_t rows, const float* from, int64_t fromStep, float* to, int64_t toStep) {
    const int64_t end = row.before + row.columns;
    for (int64_t i = 0; i < rows; ++i, from += fromStep, to += toStep) {
        std::fill_n(to, row.before, 0.0f);
        float* out = to + row.before;
        if (row.step == 1)
            std::copy_n(from, row.columns, out);
        else if (row.step == 0)
            std::fill_n(out, row.columns, *from);
        else
            for (int64_t c = 0; c < row.columns; ++c) out[c] = from[c * row.step];
        std::fill(to + end, to + row.written, 0.0f);
    }
}

void transpose(int64_t rows, int64_t columns, const float* from, int64_t step, float* to, int64_t toStep) {
    HWY_DYNAMIC_DISPATCH(transposeV)(rows, columns, from, step, to, toStep);
}

} // namespace attn::host
#endif
