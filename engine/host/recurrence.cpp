#include "engine/host/recurrence.h"

#include "engine/host/scores.h"

#include <algorithm>
#include <optional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/recurrence.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

HWY_ATTR HWY_INLINE Vector oneMinusSquare(Vector y) { return hn::NegMulAdd(y, y, constant(1)); }
/// The slope of the logistic function, from its value.
HWY_ATTR HWY_INLINE Vector logisticSlope(Vector y) { return hn::NegMulAdd(y, y, y); }

/// One row forward. @param x its gates  @param sum x + R h, of a GRU's last gate only R h  @param h,c the state,
/// replaced
void stepV(Recurrence kind, int64_t W, const float* x, const float* sum, float* h, float* c, float* hidden,
           float* kept) {
    if (kind == Recurrence::Elman)
        return vectors(W, [&](auto access, int64_t i) HWY_ATTR {
            const Vector next = hyperbolicTangent(access.load(sum + i));
            access.store(next, h + i);
            access.store(next, hidden + i);
        });
    if (kind == Recurrence::Lstm)
        return vectors(W, [&](auto access, int64_t w) HWY_ATTR {
            const Vector i = logistic(access.load(sum + w)), f = logistic(access.load(sum + W + w)),
                         g = hyperbolicTangent(access.load(sum + 2 * W + w)),
                         o = logistic(access.load(sum + 3 * W + w));
            const Vector cell = hn::MulAdd(f, access.load(c + w), hn::Mul(i, g)),
                         next = hn::Mul(o, hyperbolicTangent(cell));
            access.store(cell, c + w);
            access.store(next, h + w);
            access.store(next, hidden + w);
            int64_t at = w;
            for (const Vector each : {i, f, g, o, cell}) access.store(each, kept + at), at += W;
        });
    vectors(W, [&](auto access, int64_t w) HWY_ATTR {
        const Vector r = logistic(access.load(sum + w)), z = logistic(access.load(sum + W + w)),
                     s = access.load(sum + 2 * W + w),
                     n = hyperbolicTangent(hn::MulAdd(r, s, access.load(x + 2 * W + w))),
                     next = hn::MulAdd(z, hn::Sub(access.load(h + w), n), n);
        access.store(next, h + w);
        access.store(next, hidden + w);
        int64_t at = w;
        for (const Vector each : {r, z, n, s}) access.store(each, kept + at), at += W;
    });
}

/// Computes one row backward. @param before the state before the row, or the cell of an LSTM  @param dh,dc derivatives
/// by the state after the row; receive the derivatives by the state before it, without the part through R
/// @param dx receives the derivatives by x  @param dr receives the derivatives by R h
void stepBackwardV(Recurrence kind, int64_t W, const float* hidden, const float* kept, const float* before,
                   const float* dHidden, float* dh, float* dc, float* dx, float* dr) {
    const auto clear = [&](auto access, int64_t at) HWY_ATTR { access.store(hn::Zero(Floats()), dh + at); };
    if (kind == Recurrence::Elman)
        return vectors(W, [&](auto access, int64_t w) HWY_ATTR {
            const Vector d = hn::Mul(hn::Add(access.load(dHidden + w), access.load(dh + w)),
                                     oneMinusSquare(access.load(hidden + w)));
            access.store(d, dx + w);
            access.store(d, dr + w);
            clear(access, w);
        });
    if (kind == Recurrence::Lstm)
        return vectors(W, [&](auto access, int64_t w) HWY_ATTR {
            const Vector i = access.load(kept + w), f = access.load(kept + W + w), g = access.load(kept + 2 * W + w),
                         o = access.load(kept + 3 * W + w), t = hyperbolicTangent(access.load(kept + 4 * W + w));
            const Vector d = hn::Add(access.load(dHidden + w), access.load(dh + w)),
                         cell = hn::MulAdd(hn::Mul(d, o), oneMinusSquare(t), access.load(dc + w));
            access.store(hn::Mul(cell, f), dc + w);
            int64_t at = w;
            for (const Vector each :
                 {hn::Mul(hn::Mul(cell, g), logisticSlope(i)),
                  hn::Mul(hn::Mul(cell, access.load(before + w)), logisticSlope(f)),
                  hn::Mul(hn::Mul(cell, i), oneMinusSquare(g)), hn::Mul(hn::Mul(d, t), logisticSlope(o))}) {
                access.store(each, dx + at);
                access.store(each, dr + at);
                at += W;
            }
            clear(access, w);
        });
    vectors(W, [&](auto access, int64_t w) HWY_ATTR {
        const Vector r = access.load(kept + w), z = access.load(kept + W + w), n = access.load(kept + 2 * W + w),
                     s = access.load(kept + 3 * W + w);
        const Vector d = hn::Add(access.load(dHidden + w), access.load(dh + w)),
                     dn = hn::Mul(hn::Mul(d, hn::Sub(constant(1), z)), oneMinusSquare(n)),
                     dGate = hn::Mul(hn::Mul(dn, s), logisticSlope(r)),
                     dz = hn::Mul(hn::Mul(d, hn::Sub(access.load(before + w), n)), logisticSlope(z));
        for (float* to : {dx, dr}) {
            access.store(dGate, to + w);
            access.store(dz, to + W + w);
        }
        access.store(dn, dx + 2 * W + w);
        access.store(hn::Mul(dn, r), dr + 2 * W + w);
        access.store(hn::Mul(d, z), dh + w);
    });
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(stepV);
HWY_EXPORT(stepBackwardV);

namespace {

constexpr int64_t kReads = 64; // reads that make a copy of R in panels worthwhile

/// A factor, in panels if it is read often enough.
class Repeated {
public:
    Repeated(bool isOften, int64_t K, int64_t N, const float* rows, int64_t stride)
        : columns_(Columns::ofRows(rows, stride)) {
        if (isOften) columns_ = panels_.emplace(K, N, rows, stride).columns();
    }
    Columns columns() const { return columns_; }

private:
    std::optional<Panels> panels_;
    Columns columns_;
};

int64_t longest(const Recurrent& of, int64_t begin, int64_t end) {
    int64_t length = 0;
    for (int64_t b = begin; b < end; ++b) length = std::max(length, of.lengthOf(b));
    return length;
}

void zero(float* from, int64_t count) { std::fill_n(from, count, 0.0f); }

/// Clears a row's padding.
void pad(float* row, int64_t columns, int64_t stride) { std::fill(row + columns, row + stride, 0.0f); }

void forwardRows(const Recurrent& of, const RecurrentForward& data, Columns recurrent, int64_t begin, int64_t end) {
    const int64_t W = of.W, stride = of.stride(), gateStride = of.gateStride(), all = of.gates() * W;
    const bool isGru = of.kind == Recurrence::Gru;
    float* sums = scratch(static_cast<size_t>((end - begin) * gateStride), 0);
    std::vector<float> unkept(data.kept == nullptr ? static_cast<size_t>(of.keptStride()) : 0);
    std::copy(of.state + begin * stride, of.state + end * stride, data.lastState + begin * stride);
    if (of.cell != nullptr) std::copy(of.cell + begin * stride, of.cell + end * stride, data.lastCell + begin * stride);
    const int64_t steps = longest(of, begin, end);
    for (int64_t t = 0; t < steps; ++t) {
        for (int64_t b = begin; b < end; ++b) {
            float* sum = sums + (b - begin) * gateStride;
            std::copy_n(data.gates + (b * of.T + t) * gateStride, isGru ? 2 * W : all, sum);
            if (isGru && data.bias != nullptr)
                std::copy_n(data.bias, W, sum + 2 * W);
            else if (isGru)
                zero(sum + 2 * W, W);
        }
        orderedProduct({.M = end - begin,
                        .N = all,
                        .K = W,
                        .a = data.lastState + begin * stride,
                        .aStride = stride,
                        .b = recurrent,
                        .out = sums,
                        .stride = gateStride,
                        .keeps = true});
        for (int64_t b = begin; b < end; ++b) {
            if (t >= of.lengthOf(b)) continue;
            const int64_t row = b * of.T + t;
            float* kept = data.kept == nullptr ? unkept.data() : data.kept + row * of.keptStride();
            HWY_DYNAMIC_DISPATCH(stepV)
            (of.kind, W, data.gates + row * gateStride, sums + (b - begin) * gateStride, data.lastState + b * stride,
             of.cell == nullptr ? nullptr : data.lastCell + b * stride, data.hidden + row * stride, kept);
            pad(data.hidden + row * stride, W, stride);
            pad(kept, of.kept() * W, of.keptStride());
        }
    }
    for (int64_t b = begin; b < end; ++b) {
        const int64_t length = of.lengthOf(b), row = b * of.T + length;
        zero(data.hidden + row * stride, (of.T - length) * stride);
        if (data.kept != nullptr) zero(data.kept + row * of.keptStride(), (of.T - length) * of.keptStride());
    }
}

void backwardRows(const Recurrent& of, const RecurrentBackward& data, Columns recurrent, int64_t begin, int64_t end) {
    const int64_t W = of.W, stride = of.stride(), gateStride = of.gateStride(), all = of.gates() * W;
    float* own = scratch(static_cast<size_t>((end - begin) * gateStride), 0); // derivatives by R h
    std::copy(data.dLastState + begin * stride, data.dLastState + end * stride, data.dState + begin * stride);
    if (of.cell != nullptr)
        std::copy(data.dLastCell + begin * stride, data.dLastCell + end * stride, data.dCell + begin * stride);
    for (int64_t t = of.T; t-- > 0;) {
        bool isPast = true; // whether row t is beyond every sequence
        for (int64_t b = begin; b < end; ++b) {
            const int64_t row = b * of.T + t;
            float *dx = data.dGates + row * gateStride, *dr = own + (b - begin) * gateStride;
            float* by = data.dRecurrent == nullptr ? nullptr : data.dRecurrent + row * gateStride;
            if (t >= of.lengthOf(b)) {
                for (float* to : {dx, dr, by})
                    if (to != nullptr) zero(to, gateStride);
                continue;
            }
            isPast = false;
            const float* before = of.kind == Recurrence::Lstm
                                      ? t == 0 ? of.cell + b * stride : data.kept + (row - 1) * of.keptStride() + 4 * W
                                  : t == 0 ? of.state + b * stride
                                           : data.hidden + (row - 1) * stride;
            HWY_DYNAMIC_DISPATCH(stepBackwardV)
            (of.kind, W, data.hidden + row * stride, data.kept + row * of.keptStride(), before,
             data.dHidden + row * stride, data.dState + b * stride,
             of.cell == nullptr ? nullptr : data.dCell + b * stride, dx, dr);
            pad(dx, all, gateStride);
            pad(dr, all, gateStride);
            if (by != nullptr) std::copy_n(dr, gateStride, by);
        }
        if (isPast) continue;
        orderedProduct({.M = end - begin,
                        .N = W,
                        .K = all,
                        .a = own,
                        .aStride = gateStride,
                        .b = recurrent,
                        .out = data.dState + begin * stride,
                        .stride = stride,
                        .keeps = true});
    }
}

} // namespace

// Sequences are independent, so each thread computes some of them and waits for no other.

void recur(const Recurrent& of, const RecurrentForward& data, Pool& pool) {
    const Repeated recurrent(of.B * of.T >= kReads, of.W, of.gates() * of.W, data.recurrent, of.gateStride());
    pool.ranges(of.B, 1, 1,
                [&](int64_t begin, int64_t end) { forwardRows(of, data, recurrent.columns(), begin, end); });
}

void recurBackward(const Recurrent& of, const RecurrentBackward& data, Pool& pool) {
    const Repeated recurrent(of.B * of.T >= kReads, of.gates() * of.W, of.W, data.recurrent, of.stride());
    pool.ranges(of.B, 1, 1,
                [&](int64_t begin, int64_t end) { backwardRows(of, data, recurrent.columns(), begin, end); });
}

} // namespace attn::host
#endif
