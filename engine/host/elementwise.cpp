#include "engine/host/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

void addV(int64_t count, const float* a, const float* b, float* out) {
    vectors(count, [&](auto access, int64_t i)
                       HWY_ATTR { access.store(hn::Add(access.load(a + i), access.load(b + i)), out + i); });
}

void multiplyV(int64_t count, const float* a, const float* b, float* out) {
    vectors(count, [&](auto access, int64_t i)
                       HWY_ATTR { access.store(hn::Mul(access.load(a + i), access.load(b + i)), out + i); });
}

void scaleV(int64_t count, float factor, const float* x, float* out) {
    const Vector by = hn::Set(Floats(), factor);
    vectors(count, [&](auto access, int64_t i) HWY_ATTR { access.store(hn::Mul(access.load(x + i), by), out + i); });
}

void swigluV(int64_t count, const float* gate, const float* up, float* out) {
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        access.store(hn::Mul(activated<Activation::Silu>(access.load(gate + i)), access.load(up + i)), out + i);
    });
}

void swigluGradientV(int64_t count, const float* gate, const float* up, const float* dy, float* dGate, float* dUp) {
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        const Vector g = access.load(gate + i), u = access.load(up + i), d = access.load(dy + i);
        access.store(hn::Mul(hn::Mul(slope<Activation::Silu>(g), u), d), dGate + i);
        access.store(hn::Mul(activated<Activation::Silu>(g), d), dUp + i);
    });
}

void activateV(Activation activation, int64_t count, const float* x, float* out) {
    withActivation(activation, [&](auto kind) HWY_ATTR {
        vectors(count, [&](auto access, int64_t i)
                           HWY_ATTR { access.store(activated<decltype(kind)::value>(access.load(x + i)), out + i); });
    });
}

void activateGradientV(Activation activation, int64_t count, const float* x, const float* dy, float* out) {
    withActivation(activation, [&](auto kind) HWY_ATTR {
        vectors(count, [&](auto access, int64_t i) HWY_ATTR {
            access.store(hn::Mul(slope<decltype(kind)::value>(access.load(x + i)), access.load(dy + i)), out + i);
        });
    });
}

void finishV(int64_t rows, int64_t count, int64_t stride, float* out, const Finish& finish) {
    withActivation(finish.activation, [&](auto kind) HWY_ATTR {
        constexpr Activation activation = decltype(kind)::value;
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t at = row * stride;
            vectors(count, [&](auto access, int64_t i) HWY_ATTR {
                Vector value = access.load(out + at + i);
                if (finish.bias != nullptr) value = hn::Add(value, access.load(finish.bias + i));
                if (finish.argument != nullptr) access.store(value, finish.argument + at + i);
                if (finish.slopeAt != nullptr)
                    value = hn::Mul(value, slope<activation>(access.load(finish.slopeAt + at + i)));
                else
                    value = activated<activation>(value);
                if (finish.residual != nullptr) value = hn::Add(value, access.load(finish.residual + at + i));
                access.store(value, out + at + i);
            });
        }
    });
}

void adamV(const AdamStep& step, int64_t count, const float* gradient, float* parameter, float* moment,
           float* variance) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(Floats(), value); };
    const Vector keepMoment = set(step.beta1), newMoment = set(1 - step.beta1), keepVariance = set(step.beta2),
                 newVariance = set(1 - step.beta2), factor = set(step.factor),
                 kept = set(step.isDecoupled ? 1 - step.rate * step.decay : 1),
                 added = set(step.isDecoupled ? 0 : step.decay), rate = set(step.rate * step.momentCorrection),
                 correction = set(step.varianceCorrection), epsilon = set(step.epsilon);
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        const Vector p = hn::Mul(access.load(parameter + i), kept);
        const Vector g = hn::MulAdd(added, p, hn::Mul(access.load(gradient + i), factor));
        const Vector m = hn::MulAdd(keepMoment, access.load(moment + i), hn::Mul(newMoment, g));
        const Vector v = hn::MulAdd(keepVariance, access.load(variance + i), hn::Mul(newVariance, hn::Mul(g, g)));
        access.store(m, moment + i);
        access.store(v, variance + i);
        const Vector divisor = hn::MulAdd(hn::Sqrt(v), correction, epsilon);
        access.store(hn::Sub(p, hn::Div(hn::Mul(rate, m), divisor)), parameter + i);
    });
}

void sgdV(float momentum, float factor, float decay, float rate, int64_t count, const float* gradient, float* parameter,
          float* moment) {
    const Vector keep = hn::Set(Floats(), momentum), by = hn::Set(Floats(), factor), pull = hn::Set(Floats(), decay),
                 step = hn::Set(Floats(), rate);
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        const Vector p = access.load(parameter + i);
        const Vector u =
            hn::MulAdd(keep, access.load(moment + i), hn::MulAdd(by, access.load(gradient + i), hn::Mul(pull, p)));
        access.store(u, moment + i);
        access.store(hn::NegMulAdd(step, u, p), parameter + i);
    });
}

float squaresV(int64_t count, const float* x) {
    Vector sum = hn::Zero(Floats());
    vectors(count, [&](auto access, int64_t i) HWY_ATTR {
        const Vector value = access.load(x + i);
        sum = hn::MulAdd(value, value, sum);
    });
    return sumOf(sum);
}

float totalV(int64_t count, const float* x) {
    Vector sum = hn::Zero(Floats());
    vectors(count, [&](auto access, int64_t i) HWY_ATTR { sum = hn::Add(sum, access.load(x + i)); });
    return sumOf(sum);
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(addV);
HWY_EXPORT(multiplyV);
HWY_EXPORT(scaleV);
HWY_EXPORT(swigluV);
HWY_EXPORT(swigluGradientV);
HWY_EXPORT(activateV);
HWY_EXPORT(activateGradientV);
HWY_EXPORT(finishV);
HWY_EXPORT(adamV);
HWY_EXPORT(sgdV);
HWY_EXPORT(squaresV);
HWY_EXPORT(totalV);

void add(int64_t count, const float* a, const float* b, float* out) { HWY_DYNAMIC_DISPATCH(addV)(count, a, b, out); }
void multiply(int64_t count, const float* a, const float* b, float* out) {
    HWY_DYNAMIC_DISPATCH(multiplyV)(count, a, b, out);
}
void scale(int64_t count, float factor, const float* x, float* out) {
    HWY_DYNAMIC_DISPATCH(scaleV)(count, factor, x, out);
}
void swiglu(int64_t count, const float* gate, const float* up, float* out) {
    HWY_DYNAMIC_DISPATCH(swigluV)(count, gate, up, out);
}
void swigluGradient(int64_t count, const float* gate, const float* up, const float* dy, float* dGate, float* dUp) {
    HWY_DYNAMIC_DISPATCH(swigluGradientV)(count, gate, up, dy, dGate, dUp);
}
void activate(Activation activation, int64_t count, const float* x, float* out) {
    HWY_DYNAMIC_DISPATCH(activateV)(activation, count, x, out);
}
void activateGradient(Activation activation, int64_t count, const float* x, const float* dy, float* out) {
    HWY_DYNAMIC_DISPATCH(activateGradientV)(activation, count, x, dy, out);
}
void finish(int64_t rows, int64_t count, int64_t stride, float* out, const Finish& finish) {
    HWY_DYNAMIC_DISPATCH(finishV)(rows, count, stride, out, finish);
}
void adam(const AdamStep& step, int64_t count, const float* gradient, float* parameter, float* moment,
          float* variance) {
    HWY_DYNAMIC_DISPATCH(adamV)(step, count, gradient, parameter, moment, variance);
}
void sgd(float momentum, float factor, float decay, float rate, int64_t count, const float* gradient, float* parameter,
         float* moment) {
    HWY_DYNAMIC_DISPATCH(sgdV)(momentum, factor, decay, rate, count, gradient, parameter, moment);
}
float squares(int64_t count, const float* x) { return HWY_DYNAMIC_DISPATCH(squaresV)(count, x); }
float total(int64_t count, const float* x) { return HWY_DYNAMIC_DISPATCH(totalV)(count, x); }

} // namespace attn::host
#endif
