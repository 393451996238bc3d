#include "engine/host/selective_scan.h"

#include "engine/host/scores.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/selective_scan.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

constexpr int64_t kChunk = SelectiveScan::kChunk;

/// The first rows of a sequence in [B,T,W] and in [B,N,W].
struct Begins {
    int64_t rows, states;
    Begins(const SelectiveScan& of, int64_t sequence)
        : rows(sequence * of.rows.T * of.rows.stride()), states(sequence * of.N * of.rows.stride()) {}
};

/// Scans channels [begin, end) of a sequence. @param h room for N vectors
void selectiveV(const SelectiveScan& of, int64_t sequence, int64_t begin, int64_t end, const float* state, float* y,
                float* last, float* states, float* h) {
    const Begins first(of, sequence);
    const int64_t stride = of.rows.stride(), length = of.rows.lengthOf(sequence);
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    vectors(end - begin, [&](auto access, int64_t offset) HWY_ATTR {
        const int64_t w = begin + offset;
        for (int64_t n = 0; n < of.N; ++n)
            hn::StoreU(access.load(state + first.states + n * stride + w), Floats(), h + n * lanes);
        for (int64_t t = 0; t < of.rows.T; ++t) {
            if (t % kChunk == 0)
                for (int64_t n = 0; n < of.N; ++n)
                    access.store(hn::LoadU(Floats(), h + n * lanes),
                                 states + ((sequence * of.chunks() + t / kChunk) * of.N + n) * stride + w);
            const int64_t at = first.rows + t * stride + w, small = (sequence * of.rows.T + t) * of.stateStride();
            if (t >= length) {
                access.store(hn::Zero(Floats()), y + at);
                continue;
            }
            const Vector step = access.load(of.step + at), input = hn::Mul(step, access.load(of.x + at));
            Vector sum = hn::Zero(Floats());
            for (int64_t n = 0; n < of.N; ++n) {
                const Vector keep = exponential(hn::Mul(step, access.load(of.decay + n * stride + w))),
                             next = hn::MulAdd(keep, hn::LoadU(Floats(), h + n * lanes),
                                               hn::Mul(input, hn::Set(Floats(), of.in[small + n])));
                hn::StoreU(next, Floats(), h + n * lanes);
                sum = hn::MulAdd(next, hn::Set(Floats(), of.out[small + n]), sum);
            }
            access.store(sum, y + at);
        }
        for (int64_t n = 0; n < of.N; ++n)
            access.store(hn::LoadU(Floats(), h + n * lanes), last + first.states + n * stride + w);
    });
}

/// Memory of a thread: one vector for each row of a chunk and each state.
struct Scratch {
    float *h, *keep, *dInto, *dOutOf;
    /// @param memory four blocks and N vectors
    Scratch(float* memory, int64_t N, int64_t block)
        : h(memory), keep(memory + block + N * static_cast<int64_t>(hn::Lanes(Floats()))), dInto(keep + block),
          dOutOf(dInto + block) {}
};

/// Computes rows [t, tEnd) of some channels: first the states from the one before them, then the derivatives backward.
/// @param scratch the derivatives of each channel are added to its dInto and dOutOf
template <typename Access>
HWY_ATTR HWY_INLINE void chunkBackward(const SelectiveScan& of, const SelectiveBackward& data, int64_t sequence,
                                       int64_t t, int64_t tEnd, int64_t w, Access access, const Scratch& scratch) {
    const Begins first(of, sequence);
    const int64_t stride = of.rows.stride(), N = of.N;
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    const float* before = data.states + (sequence * of.chunks() + t / kChunk) * N * stride + w;
    for (int64_t n = 0; n < N; ++n) hn::StoreU(access.load(before + n * stride), Floats(), scratch.h + n * lanes);
    for (int64_t row = 0; row < tEnd - t; ++row) {
        const int64_t at = first.rows + (t + row) * stride + w,
                      small = (sequence * of.rows.T + t + row) * of.stateStride();
        const Vector step = access.load(of.step + at), input = hn::Mul(step, access.load(of.x + at));
        for (int64_t n = 0; n < N; ++n) {
            const int64_t own = (row * N + n) * lanes;
            const Vector keep = exponential(hn::Mul(step, access.load(of.decay + n * stride + w)));
            hn::StoreU(keep, Floats(), scratch.keep + own);
            hn::StoreU(hn::MulAdd(keep, hn::LoadU(Floats(), scratch.h + own),
                                  hn::Mul(input, hn::Set(Floats(), of.in[small + n]))),
                       Floats(), scratch.h + own + N * lanes);
        }
    }
    for (int64_t row = tEnd - t; row-- > 0;) {
        const int64_t at = first.rows + (t + row) * stride + w,
                      small = (sequence * of.rows.T + t + row) * of.stateStride();
        const Vector step = access.load(of.step + at), x = access.load(of.x + at), dy = access.load(data.dy + at),
                     input = hn::Mul(step, x);
        Vector byInput = hn::Zero(Floats()), byStep = byInput;
        for (int64_t n = 0; n < N; ++n) {
            const int64_t own = (row * N + n) * lanes, state = first.states + n * stride + w;
            const Vector h = hn::LoadU(Floats(), scratch.h + own + N * lanes),
                         keep = hn::LoadU(Floats(), scratch.keep + own),
                         g = hn::MulAdd(dy, hn::Set(Floats(), of.out[small + n]), access.load(data.dState + state)),
                         back = hn::Mul(g, keep), byPower = hn::Mul(back, hn::LoadU(Floats(), scratch.h + own));
            const auto addTo = [&](float* sums, Vector a, Vector b) HWY_ATTR {
                hn::StoreU(hn::MulAdd(a, b, hn::LoadU(Floats(), sums + own)), Floats(), sums + own);
            };
            addTo(scratch.dOutOf, dy, h);
            addTo(scratch.dInto, g, input);
            byInput = hn::MulAdd(g, hn::Set(Floats(), of.in[small + n]), byInput);
            byStep = hn::MulAdd(byPower, access.load(of.decay + n * stride + w), byStep);
            access.store(hn::MulAdd(byPower, step, access.load(data.dDecay + state)), data.dDecay + state);
            access.store(back, data.dState + state);
        }
        access.store(hn::Mul(byInput, step), data.dx + at);
        access.store(hn::MulAdd(byInput, x, byStep), data.dStep + at);
    }
}

/// Channels [begin, end) of a sequence. @param dInto,dOutOf receive the channels' sums: [T,N] with the stride of in and
/// out
void selectiveBackwardV(const SelectiveScan& of, const SelectiveBackward& data, int64_t sequence, int64_t begin,
                        int64_t end, float* dInto, float* dOutOf, float* memory) {
    const Begins first(of, sequence);
    const int64_t stride = of.rows.stride(), N = of.N, length = of.rows.lengthOf(sequence);
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    const Scratch scratch(memory, N, kChunk * N * lanes);
    for (int64_t n = 0; n < N; ++n) {
        const int64_t at = first.states + n * stride + begin;
        std::copy_n(data.dLast + at, end - begin, data.dState + at);
        std::fill_n(data.dDecay + at, end - begin, 0.0f);
    }
    for (int64_t t = length; t < of.rows.T; ++t)
        for (float* to : {data.dx, data.dStep}) std::fill_n(to + first.rows + t * stride + begin, end - begin, 0.0f);
    for (float* to : {dInto, dOutOf}) std::fill_n(to, of.rows.T * of.stateStride(), 0.0f);
    for (int64_t chunk = (length + kChunk - 1) / kChunk; chunk-- > 0;) {
        const int64_t t = chunk * kChunk, tEnd = std::min(t + kChunk, length);
        for (float* sums : {scratch.dInto, scratch.dOutOf}) std::fill_n(sums, kChunk * N * lanes, 0.0f);
        vectors(end - begin, [&](auto access, int64_t offset) HWY_ATTR {
            chunkBackward(of, data, sequence, t, tEnd, begin + offset, access, scratch);
        });
        for (int64_t row = 0; row < tEnd - t; ++row)
            for (int64_t n = 0; n < N; ++n) {
                const int64_t own = (row * N + n) * lanes, to = (t + row) * of.stateStride() + n;
                dInto[to] = sumOf(hn::LoadU(Floats(), scratch.dInto + own));
                dOutOf[to] = sumOf(hn::LoadU(Floats(), scratch.dOutOf + own));
            }
    }
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(selectiveV);
HWY_EXPORT(selectiveBackwardV);

namespace {

constexpr int64_t kLanes = 16;     // the most in a vector
constexpr int64_t kChannels = 128; // of a backward task, which adds them up

int64_t partsOf(const SelectiveScan& of, int64_t channels) { return (of.rows.stride() + channels - 1) / channels; }

} // namespace

void selectiveScan(const SelectiveScan& of, const float* state, float* y, float* last, float* states, Pool& pool) {
    const int64_t parts = partsOf(of, kLanes);
    pool.ranges(of.rows.B * parts, 1, 1, [&](int64_t first, int64_t end) {
        float* h = scratch(static_cast<size_t>(of.N * kLanes), 0);
        for (int64_t i = first; i < end; ++i) {
            const int64_t begin = i % parts * kLanes;
            HWY_DYNAMIC_DISPATCH(selectiveV)
            (of, i / parts, begin, std::min(begin + kLanes, of.rows.stride()), state, y, last, states, h);
        }
    });
}

void selectiveScanBackward(const SelectiveScan& of, const SelectiveBackward& data, Pool& pool) {
    const int64_t parts = partsOf(of, kChannels), rows = of.rows.T * of.stateStride();
    // The sums of each group of channels for dInto and dOutOf.
    std::vector<float> dInto(static_cast<size_t>(of.rows.B * parts * rows)), dOutOf(dInto.size());
    pool.ranges(of.rows.B * parts, 1, 1, [&](int64_t first, int64_t end) {
        float* memory = scratch(static_cast<size_t>((4 * SelectiveScan::kChunk + 1) * of.N * kLanes), 0);
        for (int64_t i = first; i < end; ++i) {
            const int64_t begin = i % parts * kChannels;
            HWY_DYNAMIC_DISPATCH(selectiveBackwardV)
            (of, data, i / parts, begin, std::min(begin + kChannels, of.rows.stride()), dInto.data() + i * rows,
             dOutOf.data() + i * rows, memory);
        }
    });
    pool.ranges(of.rows.B, 1, 1, [&](int64_t first, int64_t end) {
        for (int64_t b = first; b < end; ++b)
            for (const auto& [from, to] : {std::pair{&dInto, data.dInto}, {&dOutOf, data.dOutOf}})
                for (int64_t i = 0; i < rows; ++i) {
                    float sum = 0;
                    for (int64_t part = 0; part < parts; ++part)
                        sum += (*from)[static_cast<size_t>((b * parts + part) * rows + i)];
                    to[b * rows + i] = sum;
                }
    });
}

} // namespace attn::host
#endif
