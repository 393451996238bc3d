#include "engine/host/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/rows.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

void normV(int64_t columns, float epsilon, const float* x, const float* w, const float* b, float* y,
           float* statistics) {
    Vector sum = hn::Zero(Floats());
    if (b != nullptr)
        vectors(columns, [&](auto access, int64_t i) HWY_ATTR { sum = hn::Add(sum, access.load(x + i)); });
    const float mean = sumOf(sum) / static_cast<float>(columns);
    const Vector centre = hn::Set(Floats(), mean);
    Vector square = hn::Zero(Floats());
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        const Vector value = access.orZero(hn::Sub(access.load(x + i), centre));
        square = hn::MulAdd(value, value, square);
    });
    const float factor = 1 / std::sqrt(sumOf(square) / static_cast<float>(columns) + epsilon);
    const Vector by = hn::Set(Floats(), factor);
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        const Vector value = hn::Mul(hn::Mul(hn::Sub(access.load(x + i), centre), by), access.load(w + i));
        access.store(b != nullptr ? hn::Add(value, access.load(b + i)) : value, y + i);
    });
    clearPadding(columns, y);
    statistics[0] = mean;
    statistics[1] = factor;
    statistics[2] = statistics[3] = 0;
}

void normGradientV(int64_t columns, bool centres, const float* x, const float* w, const float* statistics,
                   const float* dy, const float* residual, float* dx) {
    const Vector mean = hn::Set(Floats(), statistics[0]), factor = hn::Set(Floats(), statistics[1]);
    Vector gradients = hn::Zero(Floats()), products = hn::Zero(Floats());
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        const Vector g = hn::Mul(access.load(dy + i), access.load(w + i));
        gradients = hn::Add(gradients, g);
        products = hn::MulAdd(g, hn::Mul(hn::Sub(access.load(x + i), mean), factor), products);
    });
    const auto count = static_cast<float>(columns);
    const Vector meanGradient = hn::Set(Floats(), centres ? sumOf(gradients) / count : 0),
                 meanProduct = hn::Set(Floats(), sumOf(products) / count);
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        const Vector g = hn::Mul(access.load(dy + i), access.load(w + i));
        const Vector normal = hn::Mul(hn::Sub(access.load(x + i), mean), factor);
        const Vector d = hn::Mul(factor, hn::NegMulAdd(normal, meanProduct, hn::Sub(g, meanGradient)));
        access.store(residual != nullptr ? hn::Add(d, access.load(residual + i)) : d, dx + i);
    });
    clearPadding(columns, dx);
}

void normWeightGradientV(int64_t rows, int64_t stride, int64_t begin, int64_t end, const float* x,
                         const float* statistics, const float* dy, float* dw, float* db) {
    vectors(end - begin, [&](auto access, int64_t i) HWY_ATTR {
        Vector weight = hn::Zero(Floats()), bias = hn::Zero(Floats());
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t at = row * stride + begin + i;
            const Vector d = access.load(dy + at);
            const Vector normal = hn::Mul(hn::Sub(access.load(x + at), hn::Set(Floats(), statistics[row * 4])),
                                          hn::Set(Floats(), statistics[row * 4 + 1]));
            weight = hn::MulAdd(d, normal, weight);
            bias = hn::Add(bias, d);
        }
        access.store(weight, dw + begin + i);
        access.store(bias, db + begin + i);
    });
}

void columnSumsV(int64_t rows, int64_t stride, int64_t begin, int64_t end, const float* x, float* sums) {
    vectors(end - begin, [&](auto access, int64_t i) HWY_ATTR {
        Vector sum = hn::Zero(Floats());
        for (int64_t row = 0; row < rows; ++row) sum = hn::Add(sum, access.load(x + row * stride + begin + i));
        access.store(sum, sums + begin + i);
    });
}

HWY_ATTR HWY_INLINE float rowMaximum(int64_t columns, const float* x) {
    const Vector lowest = constant(-3e38);
    Vector most = lowest;
    vectors(columns,
            [&](auto access, int64_t i) HWY_ATTR { most = hn::Max(access.orElse(access.load(x + i), lowest), most); });
    return maximumOf(most);
}

void softmaxV(int64_t columns, float masked, const float* x, float* y) {
    const float maximum = rowMaximum(columns, x);
    if (maximum <= masked) {
        // Sums of masks stay near `masked`; what is far below it, or no number, is a score that has overflowed.
        const bool isDamaged = std::any_of(x, x + columns, [&](float score) { return !(score >= 10 * masked); });
        std::fill_n(y, columns, isDamaged ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
        clearPadding(columns, y);
        return;
    }
    const Vector offset = hn::Set(Floats(), maximum);
    Vector sum = hn::Zero(Floats());
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        const Vector value = access.orZero(exponential(hn::Sub(access.load(x + i), offset)));
        sum = hn::Add(sum, value);
        access.store(value, y + i);
    });
    const Vector by = hn::Set(Floats(), 1 / sumOf(sum));
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR { access.store(hn::Mul(access.load(y + i), by), y + i); });
    clearPadding(columns, y);
}

void softmaxGradientV(int64_t columns, const float* y, const float* dy, float* dx) {
    Vector products = hn::Zero(Floats());
    vectors(columns, [&](auto access, int64_t i)
                         HWY_ATTR { products = hn::MulAdd(access.load(y + i), access.load(dy + i), products); });
    const Vector product = hn::Set(Floats(), sumOf(products));
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        access.store(hn::Mul(access.load(y + i), hn::Sub(access.load(dy + i), product)), dx + i);
    });
    clearPadding(columns, dx);
}

/// The maximum of a row and the logarithm of the sum of exp(x - maximum).
struct LogSum {
    float maximum, logarithm;
};
HWY_ATTR HWY_INLINE LogSum logSum(int64_t columns, const float* x) {
    const float maximum = rowMaximum(columns, x);
    const Vector offset = hn::Set(Floats(), maximum);
    Vector sum = hn::Zero(Floats());
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        sum = hn::Add(sum, access.orZero(exponential(hn::Sub(access.load(x + i), offset))));
    });
    return {maximum, std::log(sumOf(sum))};
}

constexpr int64_t kBlock = 256;

int64_t columnOfLargestV(int64_t columns, const float* x) {
    int64_t begin = -1; // start of the block with this row
    float most = -INFINITY;
    const Vector least = hn::Set(Floats(), -INFINITY);
    for (int64_t first = 0; first < columns; first += kBlock) {
        Vector largest = least;
        vectors(std::min(kBlock, columns - first), [&](auto access, int64_t i) HWY_ATTR {
            const Vector value = access.load(x + first + i);
            largest = hn::Max(largest, access.orElse(hn::IfThenElse(hn::Eq(value, value), value, least), least));
        });
        if (const float ofBlock = maximumOf(largest); begin < 0 || ofBlock > most) begin = first, most = ofBlock;
    }
    for (int64_t i = std::max<int64_t>(begin, 0); i < columns; ++i)
        if (x[i] == most) return i;
    return -1;
}

double sumOfExponentialsV(int64_t columns, float most, const float* x) {
    double total = 0;
    for (int64_t first = 0; first < columns; first += kBlock) {
        Vector sum = hn::Zero(Floats());
        vectors(std::min(kBlock, columns - first), [&](auto access, int64_t i) HWY_ATTR {
            const Vector value = access.load(x + first + i);
            const Vector term = exponential(hn::Sub(value, hn::Set(Floats(), most)));
            sum = hn::Add(sum, access.orZero(hn::IfThenElseZero(hn::Eq(value, value), term)));
        });
        total += static_cast<double>(sumOf(sum));
    }
    return total;
}

float crossEntropyV(int64_t columns, const float* logits, int64_t target, float weight, float smoothing) {
    const LogSum all = logSum(columns, logits);
    const float own = target < columns ? logits[target] - all.maximum - all.logarithm : 0;
    if (smoothing == 0) return -weight * own;
    Vector sum = hn::Zero(Floats());
    const Vector offset = hn::Set(Floats(), all.maximum);
    vectors(columns, [&](auto access, int64_t i)
                         HWY_ATTR { sum = hn::Add(sum, access.orZero(hn::Sub(access.load(logits + i), offset))); });
    const float mean = sumOf(sum) / static_cast<float>(columns) - all.logarithm;
    return -weight * ((1 - smoothing) * own + smoothing * mean);
}

void crossEntropyGradientV(int64_t columns, const float* logits, int64_t target, float factor, float smoothing,
                           float* dLogits) {
    const LogSum all = logSum(columns, logits);
    const Vector offset = hn::Set(Floats(), all.maximum + all.logarithm), by = hn::Set(Floats(), factor),
                 even = hn::Set(Floats(), smoothing / static_cast<float>(columns));
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        access.store(hn::Mul(by, hn::Sub(exponential(hn::Sub(access.load(logits + i), offset)), even)), dLogits + i);
    });
    if (target < columns) dLogits[target] -= factor * (1 - smoothing);
    clearPadding(columns, dLogits);
}

/// Reads the rows of w one after another, in one stream: four streams at once would be read at half the speed.
template <int rows> HWY_ATTR HWY_INLINE void skinny(const SkinnyProduct& p, int64_t begin, int64_t end) {
    constexpr int kSums = rows == 1 ? 4 : 2; // per row of x, because each addition waits for the one before
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    for (int64_t n = begin; n < end; ++n) {
        const float* w = p.w + n * p.wStride;
        Vector sums[rows][kSums];
        for (auto& ofRow : sums)
            for (Vector& sum : ofRow) sum = hn::Zero(Floats());
        int64_t i = 0;
        for (; i + kSums * lanes <= p.K; i += kSums * lanes)
            for (int part = 0; part < kSums; ++part) {
                const Vector a = hn::LoadU(Floats(), w + i + part * lanes);
                for (int m = 0; m < rows; ++m)
                    sums[m][part] =
                        hn::MulAdd(a, hn::LoadU(Floats(), p.x + m * p.xStride + i + part * lanes), sums[m][part]);
            }
        vectors(p.K - i, [&](auto access, int64_t rest) HWY_ATTR {
            const Vector a = access.load(w + i + rest);
            for (int m = 0; m < rows; ++m)
                sums[m][0] = hn::MulAdd(a, access.load(p.x + m * p.xStride + i + rest), sums[m][0]);
        });
        for (int m = 0; m < rows; ++m) {
            Vector all = sums[m][0];
            for (int part = 1; part < kSums; ++part) all = hn::Add(all, sums[m][part]);
            p.out[m * p.outStride + n] = p.scale * sumOf(all);
        }
    }
}

void skinnyProductV(const SkinnyProduct& product, int64_t begin, int64_t end) {
    static_assert(kMostSkinnyRows == 4);
    switch (product.rows) {
    case 1:
        return skinny<1>(product, begin, end);
    case 2:
        return skinny<2>(product, begin, end);
    case 3:
        return skinny<3>(product, begin, end);
    default:
        return skinny<4>(product, begin, end);
    }
}

void weightedSumV(int64_t rows, int64_t columns, const float* weights, const float* v, int64_t stride, float* out) {
    vectors(columns, [&](auto access, int64_t i) HWY_ATTR {
        Vector even = hn::Zero(Floats()), odd = even;
        int64_t s = 0;
        for (; s + 2 <= rows; s += 2) {
            even = hn::MulAdd(hn::Set(Floats(), weights[s]), access.load(v + s * stride + i), even);
            odd = hn::MulAdd(hn::Set(Floats(), weights[s + 1]), access.load(v + (s + 1) * stride + i), odd);
        }
        if (s < rows) even = hn::MulAdd(hn::Set(Floats(), weights[s]), access.load(v + s * stride + i), even);
        access.store(hn::Add(even, odd), out + i);
    });
    clearPadding(columns, out);
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(normV);
HWY_EXPORT(normGradientV);
HWY_EXPORT(normWeightGradientV);
HWY_EXPORT(columnSumsV);
HWY_EXPORT(softmaxV);
HWY_EXPORT(softmaxGradientV);
HWY_EXPORT(columnOfLargestV);
HWY_EXPORT(sumOfExponentialsV);
HWY_EXPORT(crossEntropyV);
HWY_EXPORT(crossEntropyGradientV);
HWY_EXPORT(skinnyProductV);
HWY_EXPORT(weightedSumV);

void norm(int64_t columns, float epsilon, const float* x, const float* w, const float* b, float* y, float* statistics) {
    HWY_DYNAMIC_DISPATCH(normV)(columns, epsilon, x, w, b, y, statistics);
}
void normGradient(int64_t columns, bool centres, const float* x, const float* w, const float* statistics,
                  const float* dy, const float* residual, float* dx) {
    HWY_DYNAMIC_DISPATCH(normGradientV)(columns, centres, x, w, statistics, dy, residual, dx);
}
void normWeightGradient(int64_t rows, int64_t stride, int64_t begin, int64_t end, const float* x,
                        const float* statistics, const float* dy, float* dw, float* db) {
    HWY_DYNAMIC_DISPATCH(normWeightGradientV)(rows, stride, begin, end, x, statistics, dy, dw, db);
}
void columnSums(int64_t rows, int64_t stride, int64_t begin, int64_t end, const float* x, float* sums) {
    HWY_DYNAMIC_DISPATCH(columnSumsV)(rows, stride, begin, end, x, sums);
}
void softmax(int64_t columns, float masked, const float* x, float* y) {
    HWY_DYNAMIC_DISPATCH(softmaxV)(columns, masked, x, y);
}
void softmaxGradient(int64_t columns, const float* y, const float* dy, float* dx) {
    HWY_DYNAMIC_DISPATCH(softmaxGradientV)(columns, y, dy, dx);
}
int64_t columnOfLargest(int64_t columns, const float* x) { return HWY_DYNAMIC_DISPATCH(columnOfLargestV)(columns, x); }
double sumOfExponentials(int64_t columns, float most, const float* x) {
    return HWY_DYNAMIC_DISPATCH(sumOfExponentialsV)(columns, most, x);
}
float crossEntropy(int64_t columns, const float* logits, int64_t target, float weight, float smoothing) {
    return HWY_DYNAMIC_DISPATCH(crossEntropyV)(columns, logits, target, weight, smoothing);
}
void crossEntropyGradient(int64_t columns, const float* logits, int64_t target, float factor, float smoothing,
                          float* dLogits) {
    HWY_DYNAMIC_DISPATCH(crossEntropyGradientV)(columns, logits, target, factor, smoothing, dLogits);
}
void skinnyProduct(const SkinnyProduct& product, int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(skinnyProductV)(product, begin, end);
}
void weightedSum(int64_t rows, int64_t columns, const float* weights, const float* v, int64_t stride, float* out) {
    HWY_DYNAMIC_DISPATCH(weightedSumV)(rows, columns, weights, v, stride, out);
}

} // namespace attn::host
#endif
