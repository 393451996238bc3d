#include "engine/host/function.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/function.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

/// log(x), also for arguments that Highway does not define: 0, negative numbers and infinity.
HWY_ATTR HWY_INLINE Vector logarithm(Vector x) {
    const Vector infinity = hn::Inf(Floats()), zero = hn::Zero(Floats());
    const Vector outside = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity),
                                          hn::IfThenElse(hn::Eq(x, infinity), infinity, hn::NaN(Floats())));
    const auto isInside = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
    return hn::IfThenElse(isInside, hn::Log(Floats(), hn::IfThenElse(isInside, x, constant(1))), outside);
}

/// sin(x) or cos(x). Highway's functions are exact only near 0; a vector with a larger number uses the C library.
template <bool isSine> HWY_ATTR HWY_INLINE Vector wave(Vector x) {
    constexpr double kFar = 30000;
    if (hn::AllTrue(Floats(), hn::Lt(hn::Abs(x), constant(kFar))))
        return isSine ? hn::Sin(Floats(), x) : hn::Cos(Floats(), x);
    float values[hn::MaxLanes(Floats())];
    hn::StoreU(x, Floats(), values);
    for (size_t i = 0; i < hn::Lanes(Floats()); ++i) values[i] = isSine ? std::sin(values[i]) : std::cos(values[i]);
    return hn::LoadU(Floats(), values);
}

/// Affine and Clamp are not in Unary.
template <uint8_t kind> HWY_ATTR HWY_INLINE Vector unaryOf(Vector x) {
    const Vector zero = hn::Zero(Floats()), one = constant(1);
    switch (static_cast<Unary>(kind)) {
    case Unary::Exponential:
        return exponential(x);
    case Unary::Logarithm:
        return logarithm(x);
    case Unary::Tanh:
        return hyperbolicTangent(x);
    case Unary::Sigmoid:
        return logistic(x);
    case Unary::Square:
        return hn::Mul(x, x);
    case Unary::SquareRoot:
        return hn::Sqrt(x);
    case Unary::Reciprocal:
        return hn::Div(one, x);
    case Unary::ReciprocalSquareRoot:
        return hn::Div(one, hn::Sqrt(x));
    case Unary::Absolute:
        return hn::Abs(x);
    case Unary::Sine:
        return wave<true>(x);
    case Unary::Cosine:
        return wave<false>(x);
    case Unary::Floor:
        return hn::Floor(x);
    case Unary::EluPlusOne:
        return hn::IfThenElse(hn::Gt(x, zero), hn::Add(x, one), exponential(x));
    case Unary::Relu:
        return hn::IfThenElse(hn::Lt(x, zero), zero, x);
    case Unary::Negate:
        return hn::Neg(x);
    }
    return x;
}

template <uint8_t kind> HWY_ATTR HWY_INLINE Vector valueOf(Vector x, Vector first, Vector second) {
    if constexpr (kind == Function::Affine) {
        return hn::MulAdd(x, first, second);
    } else if constexpr (kind == Function::Clamp) {
        const Vector notBelow = hn::IfThenElse(hn::Lt(x, first), first, x);
        return hn::IfThenElse(hn::Lt(second, notBelow), second, notBelow);
    } else {
        return unaryOf<kind>(x);
    }
}

/// f'(x), from x or, where that is simpler, from f(x).
template <uint8_t kind> HWY_ATTR HWY_INLINE Vector derivative(Vector known, Vector first, Vector second) {
    const Vector zero = hn::Zero(Floats()), one = constant(1);
    if constexpr (kind == Function::Clamp)
        return hn::IfThenElseZero(hn::And(hn::Ge(known, first), hn::Le(known, second)), one);
    switch (static_cast<Unary>(kind)) {
    case Unary::Exponential:
        return known;
    case Unary::Logarithm:
        return hn::Div(one, known);
    case Unary::Tanh:
        return hn::NegMulAdd(known, known, one);
    case Unary::Sigmoid:
        return hn::Mul(known, hn::Sub(one, known));
    case Unary::Square:
        return hn::Add(known, known);
    case Unary::SquareRoot:
        return hn::Div(constant(0.5), known);
    case Unary::Reciprocal:
        return hn::Neg(hn::Mul(known, known));
    case Unary::ReciprocalSquareRoot:
        return hn::Mul(constant(-0.5), hn::Mul(known, hn::Mul(known, known)));
    case Unary::Absolute:
        return hn::IfThenElse(hn::Gt(known, zero), one, hn::IfThenElseZero(hn::Lt(known, zero), constant(-1)));
    case Unary::Sine:
        return wave<false>(known);
    case Unary::Cosine:
        return hn::Neg(wave<true>(known));
    case Unary::EluPlusOne:
        return hn::IfThenElse(hn::Lt(one, known), one, known);
    case Unary::Relu:
        return hn::IfThenElseZero(hn::Gt(known, zero), one);
    default:
        return first; // of an affine function; the others are constant
    }
}

/// Calls body(constant) with the kind of a function as a compile-time constant.
template <uint8_t kind = 0, typename Body> HWY_ATTR HWY_INLINE void withKind(uint8_t wanted, const Body& body) {
    if constexpr (kind <= Function::Clamp) {
        if (wanted == kind) return body(std::integral_constant<uint8_t, kind>());
        withKind<kind + 1>(wanted, body);
    }
}

/// Calls body(access, index) for the vectors of rows, and sets their padding in `out` to zero. Rows without padding are
/// treated as one row.
template <typename Body>
HWY_ATTR HWY_INLINE void overRows(int64_t rows, int64_t columns, float* out, const Body& body) {
    if (columns % 4 == 0) return vectors(rows * columns, body);
    const int64_t stride = (columns + 3) / 4 * 4;
    for (int64_t row = 0; row < rows; ++row) {
        vectors(columns, [&](auto access, int64_t i) HWY_ATTR { body(access, row * stride + i); });
        clearPadding(columns, out + row * stride);
    }
}

void applyV(const Function& function, int64_t rows, int64_t columns, const float* x, float* y) {
    const Vector first = hn::Set(Floats(), function.first), second = hn::Set(Floats(), function.second);
    withKind(function.kind, [&](auto kind) HWY_ATTR {
        overRows(rows, columns, y, [&](auto access, int64_t i) HWY_ATTR {
            access.store(valueOf<decltype(kind)::value>(access.load(x + i), first, second), y + i);
        });
    });
}

void applyGradientV(const Function& function, int64_t rows, int64_t columns, const float* known, const float* dy,
                    float* dx) {
    const Vector first = hn::Set(Floats(), function.first), second = hn::Set(Floats(), function.second);
    withKind(function.kind, [&](auto kind) HWY_ATTR {
        overRows(rows, columns, dx, [&](auto access, int64_t i) HWY_ATTR {
            const Vector slope = derivative<decltype(kind)::value>(access.load(known + i), first, second);
            access.store(hn::Mul(slope, access.load(dy + i)), dx + i);
        });
    });
}

template <Binary function> HWY_ATTR HWY_INLINE Vector combined(Vector a, Vector b) {
    switch (function) {
    case Binary::Add:
        return hn::Add(a, b);
    case Binary::Subtract:
        return hn::Sub(a, b);
    case Binary::Multiply:
        return hn::Mul(a, b);
    case Binary::Divide:
        return hn::Div(a, b);
    case Binary::Maximum:
        return hn::IfThenElse(hn::Lt(a, b), b, a);
    case Binary::Minimum:
        return hn::IfThenElse(hn::Lt(b, a), b, a);
    case Binary::Less:
        return hn::IfThenElseZero(hn::Lt(a, b), constant(1));
    case Binary::Equal:
        return hn::IfThenElseZero(hn::Eq(a, b), constant(1));
    }
    return a;
}

template <typename Access> HWY_ATTR HWY_INLINE Vector loadFrom(const Operand& operand, Access access, int64_t at) {
    return operand.isRepeated ? hn::Set(Floats(), *operand.data) : access.load(operand.data + at);
}

/// Calls body(access, column) for the vectors of each row; the operands and the output move from row to row.
template <typename Body, typename... Operands>
HWY_ATTR HWY_INLINE void overSteps(int64_t rows, int64_t columns, float*& out, int64_t outStep, const Body& body,
                                   Operands&... operands) {
    for (int64_t row = 0; row < rows; ++row) {
        vectors(columns, body);
        clearPadding(columns, out);
        out += outStep;
        ((operands.data += operands.step), ...);
    }
}

template <Binary function>
HWY_ATTR HWY_INLINE void combineAs(int64_t rows, int64_t columns, Operand a, Operand b, float* out, int64_t outStep) {
    overSteps(
        rows, columns, out, outStep,
        [&](auto access, int64_t i)
            HWY_ATTR { access.store(combined<function>(loadFrom(a, access, i), loadFrom(b, access, i)), out + i); },
        a, b);
}

void combineV(Binary function, int64_t rows, int64_t columns, Operand a, Operand b, float* out, int64_t outStep) {
    switch (function) {
    case Binary::Add:
        return combineAs<Binary::Add>(rows, columns, a, b, out, outStep);
    case Binary::Subtract:
        return combineAs<Binary::Subtract>(rows, columns, a, b, out, outStep);
    case Binary::Multiply:
        return combineAs<Binary::Multiply>(rows, columns, a, b, out, outStep);
    case Binary::Divide:
        return combineAs<Binary::Divide>(rows, columns, a, b, out, outStep);
    case Binary::Maximum:
        return combineAs<Binary::Maximum>(rows, columns, a, b, out, outStep);
    case Binary::Minimum:
        return combineAs<Binary::Minimum>(rows, columns, a, b, out, outStep);
    case Binary::Less:
        return combineAs<Binary::Less>(rows, columns, a, b, out, outStep);
    case Binary::Equal:
        return combineAs<Binary::Equal>(rows, columns, a, b, out, outStep);
    }
}

void selectV(int64_t rows, int64_t columns, Operand condition, Operand a, Operand b, float* out, int64_t outStep) {
    overSteps(
        rows, columns, out, outStep,
        [&](auto access, int64_t i) HWY_ATTR {
            const auto isB = hn::Eq(loadFrom(condition, access, i), hn::Zero(Floats()));
            access.store(hn::IfThenElse(isB, loadFrom(b, access, i), loadFrom(a, access, i)), out + i);
        },
        condition, a, b);
}

using Integers = hn::RebindToSigned<Floats>;

void toRealV(int64_t count, const int32_t* x, float* y) {
    // Integers have the size of floats, so their bits can be loaded as such.
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        const auto bits = access.load(reinterpret_cast<const float*>(x) + i);
        access.store(hn::ConvertTo(Floats(), hn::BitCast(Integers(), bits)), y + i);
    });
}

void toIntegerV(int64_t count, const float* x, int32_t* y) {
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        const auto integers = hn::ConvertTo(Integers(), hn::Floor(access.load(x + i)));
        access.store(hn::BitCast(Floats(), integers), reinterpret_cast<float*>(y) + i);
    });
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(applyV);
HWY_EXPORT(applyGradientV);
HWY_EXPORT(combineV);
HWY_EXPORT(selectV);
HWY_EXPORT(toRealV);
HWY_EXPORT(toIntegerV);

void apply(const Function& function, int64_t rows, int64_t columns, const float* x, float* y) {
    HWY_DYNAMIC_DISPATCH(applyV)(function, rows, columns, x, y);
}
void applyGradient(const Function& function, int64_t rows, int64_t columns, const float* known, const float* dy,
                   float* dx) {
    HWY_DYNAMIC_DISPATCH(applyGradientV)(function, rows, columns, known, dy, dx);
}
void combine(Binary function, int64_t rows, int64_t columns, Operand a, Operand b, float* out, int64_t outStep) {
    HWY_DYNAMIC_DISPATCH(combineV)(function, rows, columns, a, b, out, outStep);
}
void select(int64_t rows, int64_t columns, Operand condition, Operand a, Operand b, float* out, int64_t outStep) {
    HWY_DYNAMIC_DISPATCH(selectV)(rows, columns, condition, a, b, out, outStep);
}
void toReal(int64_t count, const int32_t* x, float* y) { HWY_DYNAMIC_DISPATCH(toRealV)(count, x, y); }
void toInteger(int64_t count, const float* x, int32_t* y) { HWY_DYNAMIC_DISPATCH(toIntegerV)(count, x, y); }

} // namespace attn::host
#endif
