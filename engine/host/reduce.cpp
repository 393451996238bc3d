#include "engine/host/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/reduce.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

/// The error of a sum grows with its length, so long sums are computed in parts.
constexpr int64_t kPart = 256;

/// The larger number. NaN is ignored.
HWY_ATTR HWY_INLINE Vector larger(Vector most, Vector x) { return hn::IfThenElse(hn::Lt(most, x), x, most); }

void reduceStripV(const Strip& strip, int64_t begin, int64_t end, const float* x, float* y) {
    const Vector factor = hn::Set(Floats(), strip.factor);
    vectors(end - begin, [&](auto access, int64_t i) HWY_ATTR {
        const float* from = x + begin + i;
        Vector result = hn::Zero(Floats());
        if (strip.isMaximum) {
            result = hn::Neg(hn::Inf(Floats()));
            for (int64_t row = 0; row < strip.strip; ++row)
                result = larger(result, access.load(from + row * strip.stride));
        } else {
            for (int64_t row = 0; row < strip.strip;) {
                Vector part = hn::Zero(Floats());
                for (const int64_t last = HWY_MIN(row + kPart, strip.strip); row < last; ++row)
                    part = hn::Add(part, access.load(from + row * strip.stride));
                result = hn::Add(result, part);
            }
        }
        access.store(hn::Mul(result, factor), y + begin + i);
    });
}

HWY_ATTR HWY_INLINE float rowSum(int64_t count, const float* x) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats())), part = kPart * lanes;
    Vector sum = hn::Zero(Floats());
    for (int64_t at = 0; at < count; at += part) {
        Vector own = hn::Zero(Floats());
        vectors(HWY_MIN(part, count - at),
                [&](auto access, int64_t i) HWY_ATTR { own = hn::Add(own, access.load(x + at + i)); });
        sum = hn::Add(sum, own);
    }
    return sumOf(sum);
}

HWY_ATTR HWY_INLINE float rowMost(int64_t columns, const float* x) {
    const Vector lowest = hn::Neg(hn::Inf(Floats()));
    Vector most = lowest;
    vectors(columns,
            [&](auto access, int64_t i) HWY_ATTR { most = larger(most, access.orElse(access.load(x + i), lowest)); });
    return maximumOf(most);
}

float reduceLinesV(bool isMaximum, int64_t lines, int64_t columns, const float* x) {
    const int64_t stride = (columns + 3) / 4 * 4;
    if (!isMaximum) return rowSum(lines * stride, x); // zero padding does not change a sum
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t line = 0; line < lines; ++line) most = HWY_MAX(most, rowMost(columns, x + line * stride));
    return most;
}

void cumulateStripV(Cumulative how, int64_t strip, int64_t stride, int64_t begin, int64_t end, const float* x,
                    float* y) {
    vectors(end - begin, [&](auto access, int64_t i) HWY_ATTR {
        Vector sum = hn::Zero(Floats());
        for (int64_t n = 0; n < strip; ++n) {
            const int64_t at = (how.isReverse ? strip - 1 - n : n) * stride + begin + i;
            const Vector next = hn::Add(sum, access.load(x + at));
            access.store(how.isExclusive ? sum : next, y + at);
            sum = next;
        }
    });
}

int32_t argmaxV(int64_t columns, const float* x) {
    if (x[0] != x[0]) return 0;
    const float most = rowMost(columns, x);
    const Vector wanted = hn::Set(Floats(), most);
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    int64_t i = 0;
    while (i + lanes <= columns && hn::AllFalse(Floats(), hn::Eq(hn::LoadU(Floats(), x + i), wanted))) i += lanes;
    while (i < columns && !(x[i] == most)) ++i;
    return static_cast<int32_t>(i < columns ? i : 0);
}

Moments momentsV(float masked, int64_t rows, int64_t columns, const float* x) {
    const Vector infinity = hn::Inf(Floats()), limit = hn::Set(Floats(), masked);
    const int64_t stride = (columns + 3) / 4 * 4;
    Moments result;
    Vector least = infinity, most = hn::Neg(infinity);
    for (int64_t row = 0; row < rows; ++row) {
        Vector sum = hn::Zero(Floats());
        int64_t ordinary = 0, nans = 0, infinities = 0;
        vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
            const Vector value = access.orElse(access.load(x + row * stride + i), limit); // padding counts as masked
            const Vector size = hn::Abs(value);
            const auto counts = hn::And(hn::Lt(size, infinity), hn::Gt(value, limit));
            const auto isNumber = hn::Eq(value, value), isInfinite = hn::Eq(size, infinity);
            ordinary += static_cast<int64_t>(hn::CountTrue(Floats(), counts));
            if (!hn::AllTrue(Floats(), counts)) {
                nans += static_cast<int64_t>(hn::CountTrue(Floats(), hn::Not(isNumber)));
                infinities += static_cast<int64_t>(hn::CountTrue(Floats(), isInfinite));
            }
            sum = hn::Add(sum, hn::IfThenElseZero(counts, value));
            least = hn::Min(least, hn::IfThenElse(counts, value, infinity));
            most = hn::Max(most, hn::IfThenElse(counts, value, hn::Neg(infinity)));
        });
        result.finite += ordinary;
        result.nans += nans;
        result.infinities += infinities;
        result.masked += columns - ordinary - nans - infinities;
        result.total += static_cast<double>(sumOf(sum));
    }
    result.least = hn::GetLane(hn::MinOfLanes(Floats(), least));
    result.most = maximumOf(most);
    return result;
}

double squaresAboutV(float mean, float masked, int64_t rows, int64_t columns, const float* x) {
    const Vector centre = hn::Set(Floats(), mean), limit = hn::Set(Floats(), masked), infinity = hn::Inf(Floats());
    const int64_t stride = (columns + 3) / 4 * 4;
    double result = 0;
    for (int64_t row = 0; row < rows; ++row) {
        Vector sum = hn::Zero(Floats());
        vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
            const Vector value = access.orElse(access.load(x + row * stride + i), limit);
            const auto counts = hn::And(hn::Lt(hn::Abs(value), infinity), hn::Gt(value, limit));
            const Vector away = hn::IfThenElseZero(counts, hn::Sub(value, centre));
            sum = hn::MulAdd(away, away, sum);
        });
        result += static_cast<double>(sumOf(sum));
    }
    return result;
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(reduceStripV);
HWY_EXPORT(reduceLinesV);
HWY_EXPORT(cumulateStripV);
HWY_EXPORT(argmaxV);
HWY_EXPORT(momentsV);
HWY_EXPORT(squaresAboutV);

void reduceStrip(const Strip& strip, int64_t begin, int64_t end, const float* x, float* y) {
    HWY_DYNAMIC_DISPATCH(reduceStripV)(strip, begin, end, x, y);
}
float reduceLines(bool isMaximum, int64_t lines, int64_t columns, const float* x) {
    return HWY_DYNAMIC_DISPATCH(reduceLinesV)(isMaximum, lines, columns, x);
}
void cumulateRow(Cumulative how, int64_t columns, const float* x, float* y) {
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i) {
        const int64_t at = how.isReverse ? columns - 1 - i : i;
        const double next = sum + static_cast<double>(x[at]);
        y[at] = static_cast<float>(how.isExclusive ? sum : next);
        sum = next;
    }
    std::fill(y + columns, y + (columns + 3) / 4 * 4, 0.0f);
}
void cumulateStrip(Cumulative how, int64_t strip, int64_t stride, int64_t begin, int64_t end, const float* x,
                   float* y) {
    HWY_DYNAMIC_DISPATCH(cumulateStripV)(how, strip, stride, begin, end, x, y);
}
int32_t argmax(int64_t columns, const float* x) { return HWY_DYNAMIC_DISPATCH(argmaxV)(columns, x); }

void Moments::add(const Moments& other) {
    if (other.finite > 0) {
        least = finite > 0 ? std::min(least, other.least) : other.least;
        most = finite > 0 ? std::max(most, other.most) : other.most;
    }
    finite += other.finite;
    nans += other.nans;
    infinities += other.infinities;
    masked += other.masked;
    total += other.total;
}
Moments moments(float masked, int64_t rows, int64_t columns, const float* x) {
    return HWY_DYNAMIC_DISPATCH(momentsV)(masked, rows, columns, x);
}
double squaresAbout(float mean, float masked, int64_t rows, int64_t columns, const float* x) {
    return HWY_DYNAMIC_DISPATCH(squaresAboutV)(mean, masked, rows, columns, x);
}

} // namespace attn::host
#endif
