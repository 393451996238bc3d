// Vectors of as many floats as the processor holds, for the kernels of this folder. Highway compiles each source that
// includes this once for each kind of processor, and picks one at run time.

#include "engine/host/activation.h"

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#if defined(ATTN_HOST_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_HOST_VECTORS_INL_H
#undef ATTN_HOST_VECTORS_INL_H
#else
#define ATTN_HOST_VECTORS_INL_H
#endif

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

/// How a body of vectors() reads and writes whole vectors.
struct Whole {
    HWY_ATTR Vector load(const float* from) const { return hn::LoadU(Floats(), from); }
    HWY_ATTR void store(Vector value, float* to) const { hn::StoreU(value, Floats(), to); }
    HWY_ATTR Vector orZero(Vector value) const { return value; }
    HWY_ATTR Vector orElse(Vector value, Vector) const { return value; }
};

/// Access to the first lanes of a vector, at the end of a row.
struct Part {
    hn::Mask<Floats> mask;
    HWY_ATTR Vector load(const float* from) const {
#if HWY_TARGET == HWY_SSE4 // whose masked loads want aligned memory, and read all of it
        alignas(16) float lanes[4] = {};
        for (size_t i = 0, count = hn::CountTrue(Floats(), mask); i < count; ++i) lanes[i] = from[i];
        return hn::Load(Floats(), lanes);
#else
        return hn::MaskedLoad(mask, Floats(), from);
#endif
    }
    HWY_ATTR void store(Vector value, float* to) const { hn::BlendedStore(value, mask, Floats(), to); }
    HWY_ATTR Vector orZero(Vector value) const { return hn::IfThenElseZero(mask, value); }
    HWY_ATTR Vector orElse(Vector value, Vector other) const { return hn::IfThenElse(mask, value, other); }
};

/// Calls body(access, index) for each vector of `count` floats; the last may be a part of one.
template <typename Body> HWY_ATTR HWY_INLINE void vectors(int64_t count, const Body& body) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) body(Whole(), i);
    if (i < count) body(Part{hn::FirstN(Floats(), static_cast<size_t>(count - i))}, i);
}

HWY_ATTR HWY_INLINE Vector constant(double value) { return hn::Set(Floats(), static_cast<float>(value)); }
HWY_ATTR HWY_INLINE float sumOf(Vector value) { return hn::GetLane(hn::SumOfLanes(Floats(), value)); }
HWY_ATTR HWY_INLINE float maximumOf(Vector value) { return hn::GetLane(hn::MaxOfLanes(Floats(), value)); }

/// Zeros from `columns` to the end of a padded row.
HWY_ATTR HWY_INLINE void clearPadding(int64_t columns, float* row) {
    for (int64_t c = columns; c < (columns + 3) / 4 * 4; ++c) row[c] = 0;
}

/// The result where x is a number, else x: for functions that Highway defines only for numbers.
HWY_ATTR HWY_INLINE Vector orNotANumber(Vector x, Vector result) { return hn::IfThenElse(hn::Eq(x, x), result, x); }

/// exp(x); 0 below -104.
HWY_ATTR HWY_INLINE Vector exponential(Vector x) {
    return orNotANumber(x, hn::Exp(Floats(), hn::Min(x, constant(104))));
}

/// 1 / (1 + exp(-x))
HWY_ATTR HWY_INLINE Vector logistic(Vector x) {
    return hn::Div(constant(1), hn::Add(constant(1), exponential(hn::Neg(x))));
}

/// tanh(x), without the loss of digits near 0 that exp(2x) - 1 would have.
HWY_ATTR HWY_INLINE Vector hyperbolicTangent(Vector x) {
    return orNotANumber(x, hn::Tanh(Floats(), hn::Max(hn::Min(x, constant(20)), constant(-20))));
}

/// The error function. @source Numerical Recipes, 2nd edition, section 6.2: a Chebyshev fit of erfc, error below 1.2e-7
HWY_ATTR HWY_INLINE Vector errorFunction(Vector x) {
    const Vector z = hn::Abs(x), t = hn::Div(constant(1), hn::MulAdd(z, constant(0.5), constant(1)));
    Vector p = constant(0.17087277);
    for (const double c : {-0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
                           1.00002368, -1.26551223})
        p = hn::MulAdd(p, t, constant(c));
    const Vector complement = hn::Mul(t, exponential(hn::NegMulAdd(z, z, p)));
    return hn::CopySign(hn::Sub(constant(1), complement), x);
}

/// @source Hendrycks and Gimpel 2016, "GELU", arXiv:1606.08415
template <Activation activation> HWY_ATTR HWY_INLINE Vector activated(Vector x) {
    if constexpr (activation == Activation::None) return x;
    if constexpr (activation == Activation::GeluErf) {
        const Vector half = hn::Mul(x, constant(0.5));
        return hn::MulAdd(half, errorFunction(hn::Mul(x, constant(0.70710678118654752))), half);
    }
    if constexpr (activation == Activation::GeluTanh) {
        const Vector u = hn::Mul(hn::Mul(x, constant(0.79788456080286536)),
                                 hn::MulAdd(hn::Mul(x, x), constant(0.044715), constant(1)));
        const Vector half = hn::Mul(x, constant(0.5));
        return hn::MulAdd(half, hyperbolicTangent(u), half);
    }
    if constexpr (activation == Activation::Silu) return hn::Mul(x, logistic(x));
    return orNotANumber(x, hn::Max(x, constant(0)));
}

/// The derivative of an activation at x.
template <Activation activation> HWY_ATTR HWY_INLINE Vector slope(Vector x) {
    const Vector one = constant(1), half = constant(0.5);
    if constexpr (activation == Activation::None) return one;
    if constexpr (activation == Activation::GeluErf) {
        const Vector distribution = hn::MulAdd(half, errorFunction(hn::Mul(x, constant(0.70710678118654752))), half);
        const Vector density =
            hn::Mul(constant(0.39894228040143268), exponential(hn::Mul(hn::Mul(x, x), constant(-0.5))));
        return hn::MulAdd(x, density, distribution);
    }
    if constexpr (activation == Activation::GeluTanh) {
        const Vector square = hn::Mul(x, x), c = constant(0.79788456080286536);
        const Vector t = hyperbolicTangent(hn::Mul(hn::Mul(x, c), hn::MulAdd(square, constant(0.044715), one)));
        const Vector inner = hn::Mul(c, hn::MulAdd(square, constant(3 * 0.044715), one));
        const Vector rest = hn::Mul(hn::Mul(half, x), hn::NegMulAdd(t, t, one));
        return hn::MulAdd(rest, inner, hn::MulAdd(half, t, half));
    }
    if constexpr (activation == Activation::Silu) {
        const Vector s = logistic(x);
        return hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one));
    }
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(Floats())), one);
}

/// Calls function(constant) with the activation as a constant of the compiler.
template <typename Function> HWY_ATTR HWY_INLINE void withActivation(Activation activation, const Function& function) {
    switch (activation) {
    case Activation::None:
        return function(std::integral_constant<Activation, Activation::None>());
    case Activation::GeluErf:
        return function(std::integral_constant<Activation, Activation::GeluErf>());
    case Activation::GeluTanh:
        return function(std::integral_constant<Activation, Activation::GeluTanh>());
    case Activation::Silu:
        return function(std::integral_constant<Activation, Activation::Silu>());
    case Activation::Relu:
        return function(std::integral_constant<Activation, Activation::Relu>());
    }
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
