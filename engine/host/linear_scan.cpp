#include "engine/host/linear_scan.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/linear_scan.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

// Scans channels [begin, end) of a sequence. The padding is zero and stays zero.

void realV(const SequenceRows& of, int64_t sequence, int64_t begin, int64_t end, const float* a, const float* b,
           const float* state, float* hidden, float* last) {
    const int64_t stride = of.stride(), length = of.lengthOf(sequence), first = sequence * of.T * stride + begin;
    vectors(end - begin, [&](auto access, int64_t c) HWY_ATTR {
        Vector h = access.load(state + sequence * stride + begin + c);
        int64_t at = first + c;
        for (int64_t t = 0; t < length; ++t, at += stride) {
            h = hn::MulAdd(access.load(a + at), h, access.load(b + at));
            access.store(h, hidden + at);
        }
        access.store(h, last + sequence * stride + begin + c);
    });
}

/// Keeps the state in `last`.
void complexV(const SequenceRows& of, int64_t sequence, int64_t begin, int64_t end, const float* a, const float* b,
              float* hidden, float* last) {
    const int64_t stride = of.stride(), length = of.lengthOf(sequence);
    float* h = last + sequence * stride + begin;
    for (int64_t t = 0; t < length; ++t) {
        const int64_t row = (sequence * of.T + t) * stride + begin;
        for (int64_t c = 0; c < end - begin; c += 2) {
            const float real = a[row + c] * h[c] - a[row + c + 1] * h[c + 1] + b[row + c],
                        imaginary = a[row + c] * h[c + 1] + a[row + c + 1] * h[c] + b[row + c + 1];
            hidden[row + c] = h[c] = real;
            hidden[row + c + 1] = h[c + 1] = imaginary;
        }
    }
}

void realBackwardV(const SequenceRows& of, int64_t sequence, int64_t begin, int64_t end,
                   const LinearScanBackward& data) {
    const int64_t stride = of.stride(), first = sequence * of.T * stride + begin;
    vectors(end - begin, [&](auto access, int64_t c) HWY_ATTR {
        const int64_t own = sequence * stride + begin + c;
        Vector d = access.load(data.dLast + own); // derivative by h[t] through later rows
        for (int64_t t = of.lengthOf(sequence); t-- > 0;) {
            const int64_t at = first + c + t * stride;
            const Vector before = access.load(t > 0 ? data.hidden + at - stride : data.state + own);
            const Vector g = hn::Add(d, access.load(data.dHidden + at));
            access.store(g, data.db + at);
            access.store(hn::Mul(before, g), data.da + at);
            d = hn::Mul(access.load(data.a + at), g);
        }
        access.store(d, data.dState + own);
    });
}

/// Keeps the derivatives by the last state in dState.
void complexBackwardV(const SequenceRows& of, int64_t sequence, int64_t begin, int64_t end,
                      const LinearScanBackward& data) {
    const int64_t stride = of.stride();
    float* d = data.dState + sequence * stride + begin;
    for (int64_t t = of.lengthOf(sequence); t-- > 0;) {
        const int64_t row = (sequence * of.T + t) * stride + begin;
        const float* before = t > 0 ? data.hidden + row - stride : data.state + sequence * stride + begin;
        for (int64_t c = 0; c < end - begin; c += 2) {
            const int64_t at = row + c;
            const float real = d[c] + data.dHidden[at], imaginary = d[c + 1] + data.dHidden[at + 1];
            data.db[at] = real;
            data.db[at + 1] = imaginary;
            data.da[at] = before[c] * real + before[c + 1] * imaginary; // times the conjugate
            data.da[at + 1] = before[c] * imaginary - before[c + 1] * real;
            d[c] = data.a[at] * real + data.a[at + 1] * imaginary;
            d[c + 1] = data.a[at] * imaginary - data.a[at + 1] * real;
        }
    }
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(realV);
HWY_EXPORT(complexV);
HWY_EXPORT(realBackwardV);
HWY_EXPORT(complexBackwardV);

namespace {

/// Calls task(sequence, begin, end) for groups of channels of each sequence. A group is a cache line of each row.
template <typename Task> void forChannels(const SequenceRows& of, Pool& pool, const Task& task) {
    constexpr int64_t kChannels = 16, kWork = 1 << 13; // numbers that are worth another thread
    const int64_t parts = (of.stride() + kChannels - 1) / kChannels;
    pool.ranges(of.B * parts, kWork / (of.T * kChannels) + 1, 1, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i)
            task(i / parts, i % parts * kChannels, std::min((i % parts + 1) * kChannels, of.stride()));
    });
}

/// Clears the channels of rows beyond the length of a sequence.
void clearBeyond(const SequenceRows& of, int64_t sequence, int64_t begin, int64_t end, float* rows) {
    for (int64_t t = of.lengthOf(sequence); t < of.T; ++t)
        std::fill_n(rows + (sequence * of.T + t) * of.stride() + begin, end - begin, 0.0f);
}

} // namespace

void linearScan(const LinearScan& of, const float* a, const float* b, const float* state, float* hidden, float* last,
                Pool& pool) {
    forChannels(of.rows, pool, [&](int64_t sequence, int64_t begin, int64_t end) {
        clearBeyond(of.rows, sequence, begin, end, hidden);
        if (!of.isComplex) return HWY_DYNAMIC_DISPATCH(realV)(of.rows, sequence, begin, end, a, b, state, hidden, last);
        const int64_t own = sequence * of.rows.stride() + begin;
        std::copy_n(state + own, end - begin, last + own);
        HWY_DYNAMIC_DISPATCH(complexV)(of.rows, sequence, begin, end, a, b, hidden, last);
    });
}

void linearScanBackward(const LinearScan& of, const LinearScanBackward& data, Pool& pool) {
    forChannels(of.rows, pool, [&](int64_t sequence, int64_t begin, int64_t end) {
        for (float* rows : {data.da, data.db}) clearBeyond(of.rows, sequence, begin, end, rows);
        if (!of.isComplex) return HWY_DYNAMIC_DISPATCH(realBackwardV)(of.rows, sequence, begin, end, data);
        const int64_t own = sequence * of.rows.stride() + begin;
        std::copy_n(data.dLast + own, end - begin, data.dState + own);
        HWY_DYNAMIC_DISPATCH(complexBackwardV)(of.rows, sequence, begin, end, data);
    });
}

} // namespace attn::host
#endif
