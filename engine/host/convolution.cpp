#include "engine/host/convolution.h"

#include "engine/host/ordered.h"
#include "engine/host/product.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/convolution.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

constexpr int kAtOnce = 4; // vectors of channels whose sums stay in registers

/// sums[c] = start[c] + the sum over taps of a[tap][c] * b[tap][c]. @param start null for 0
void weighedV(int64_t channels, int64_t taps, const float* const* a, const float* const* b, const float* start,
              float* sums) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    int64_t c = 0;
    for (; c + kAtOnce * lanes <= channels; c += kAtOnce * lanes) {
        Vector parts[kAtOnce];
        for (int v = 0; v < kAtOnce; ++v)
            parts[v] = start == nullptr ? hn::Zero(Floats()) : hn::LoadU(Floats(), start + c + v * lanes);
        for (int64_t tap = 0; tap < taps; ++tap)
            for (int v = 0; v < kAtOnce; ++v)
                parts[v] = hn::MulAdd(hn::LoadU(Floats(), a[tap] + c + v * lanes),
                                      hn::LoadU(Floats(), b[tap] + c + v * lanes), parts[v]);
        for (int v = 0; v < kAtOnce; ++v) hn::StoreU(parts[v], Floats(), sums + c + v * lanes);
    }
    vectors(channels - c, [&](auto access, int64_t i) HWY_ATTR {
        Vector part = start == nullptr ? hn::Zero(Floats()) : access.load(start + c + i);
        for (int64_t tap = 0; tap < taps; ++tap)
            part = hn::MulAdd(access.load(a[tap] + c + i), access.load(b[tap] + c + i), part);
        access.store(part, sums + c + i);
    });
    clearPadding(channels, sums);
}

/// sums[c] += the sum over rows of a[row][c] * b[row][c]
void productsV(int64_t channels, int64_t rows, const float* a, int64_t aStep, const float* b, int64_t bStep,
               float* sums) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    int64_t c = 0;
    for (; c + kAtOnce * lanes <= channels; c += kAtOnce * lanes) {
        Vector parts[kAtOnce];
        for (int v = 0; v < kAtOnce; ++v) parts[v] = hn::LoadU(Floats(), sums + c + v * lanes);
        for (int64_t row = 0; row < rows; ++row)
            for (int v = 0; v < kAtOnce; ++v)
                parts[v] = hn::MulAdd(hn::LoadU(Floats(), a + row * aStep + c + v * lanes),
                                      hn::LoadU(Floats(), b + row * bStep + c + v * lanes), parts[v]);
        for (int v = 0; v < kAtOnce; ++v) hn::StoreU(parts[v], Floats(), sums + c + v * lanes);
    }
    vectors(channels - c, [&](auto access, int64_t i) HWY_ATTR {
        Vector part = access.load(sums + c + i);
        for (int64_t row = 0; row < rows; ++row)
            part = hn::MulAdd(access.load(a + row * aStep + c + i), access.load(b + row * bStep + c + i), part);
        access.store(part, sums + c + i);
    });
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(weighedV);
HWY_EXPORT(productsV);

namespace {

constexpr int64_t kRows = 64;      // of a task
constexpr int64_t kChannels = 64;  // of a task, a multiple of Columns::kPanelColumns
constexpr int64_t kWork = 1 << 15; // multiply-adds that are worth another thread

/// The rows that a channel reads for one place of a result, and their weights.
class Taps {
public:
    explicit Taps(const Convolution& of) : of_(of), rows_(static_cast<size_t>(of.taps())), weights_(rows_.size()) {}

    /// Adds the row [y,x] of `from`, whose lines have `rows` rows, with the weights of a tap.
    void add(const float* from, int64_t rows, int64_t y, int64_t x, const float* weights, int64_t tap) {
        rows_.at(count_) = from + (y * rows + x) * of_.strideC();
        weights_.at(count_++) = weights + tap * of_.strideC();
    }
    void write(const float* start, float* result) {
        HWY_DYNAMIC_DISPATCH(weighedV)
        (of_.C, static_cast<int64_t>(count_), rows_.data(), weights_.data(), start, result);
        count_ = 0;
    }

private:
    const Convolution& of_;
    std::vector<const float*> rows_, weights_;
    size_t count_ = 0;
};

void depthwise(const Convolution& of, const float* x, const float* weights, const float* bias, float* result,
               int64_t begin, int64_t end) {
    Taps taps(of);
    for (int64_t row = begin; row < end; ++row) {
        const int64_t b = row / (of.y.output * of.x.output), oy = row / of.x.output % of.y.output,
                      ox = row % of.x.output;
        const float* own = x + b * of.y.input * of.x.input * of.strideC();
        for (int64_t ky = 0; ky < of.y.taps; ++ky) {
            const int64_t iy = of.y.inputOf(oy, ky);
            if (iy < 0 || iy >= of.y.input) continue;
            for (int64_t kx = 0; kx < of.x.taps; ++kx) {
                const int64_t ix = of.x.inputOf(ox, kx);
                if (ix >= 0 && ix < of.x.input) taps.add(own, of.x.input, iy, ix, weights, ky * of.x.taps + kx);
            }
        }
        taps.write(bias, result + row * of.strideO());
    }
}

void depthwiseInput(const Convolution& of, const float* d, const float* weights, float* dx, int64_t begin,
                    int64_t end) {
    /// The output that reads an input through a tap, or -1.
    const auto outputOf = [](const ConvolvedAxis& axis, int64_t input, int64_t tap) {
        const int64_t at = input + axis.before - tap * axis.dilation;
        return at >= 0 && at % axis.stride == 0 && at / axis.stride < axis.output ? at / axis.stride : -1;
    };
    Taps taps(of);
    for (int64_t row = begin; row < end; ++row) {
        const int64_t b = row / (of.y.input * of.x.input), iy = row / of.x.input % of.y.input, ix = row % of.x.input;
        const float* own = d + b * of.y.output * of.x.output * of.strideO();
        for (int64_t ky = 0; ky < of.y.taps; ++ky) {
            const int64_t oy = outputOf(of.y, iy, ky);
            for (int64_t kx = 0; kx < of.x.taps && oy >= 0; ++kx)
                if (const int64_t ox = outputOf(of.x, ix, kx); ox >= 0)
                    taps.add(own, of.x.output, oy, ox, weights, ky * of.x.taps + kx);
        }
        taps.write(nullptr, dx + row * of.strideC());
    }
}

/// The rows of one line of results that a tap reaches: `count` rows of x from `input` on, and of the result from
/// `output` on.
struct Reach {
    int64_t input = 0, output = 0, count = 0;
};
/// @param begin,end a part of the line
Reach reachOf(const Convolution& of, int64_t b, int64_t oy, int64_t tap, int64_t begin, int64_t end) {
    const int64_t ky = tap / of.x.taps, kx = tap % of.x.taps, iy = of.y.inputOf(oy, ky);
    const int64_t first = std::max(begin, of.x.firstOutput(kx)), last = std::min(end, of.x.endOutput(kx));
    if (iy < 0 || iy >= of.y.input || first >= last) return {};
    return {(b * of.y.input + iy) * of.x.input + of.x.inputOf(first, kx), (b * of.y.output + oy) * of.x.output + first,
            last - first};
}

void depthwiseWeights(const Convolution& of, const float* x, const float* d, float* dWeights, int64_t begin,
                      int64_t end) {
    constexpr int64_t kCached = 32; // rows
    for (int64_t tap = 0; tap < of.taps(); ++tap)
        std::fill(dWeights + tap * of.strideO() + begin, dWeights + tap * of.strideO() + end, 0.0f);
    for (int64_t line = 0; line < of.B * of.y.output; ++line)
        for (int64_t first = 0; first < of.x.output; first += kCached)
            for (int64_t tap = 0; tap < of.taps(); ++tap) {
                const Reach reach = reachOf(of, line / of.y.output, line % of.y.output, tap, first,
                                            std::min(first + kCached, of.x.output));
                HWY_DYNAMIC_DISPATCH(productsV)
                (end - begin, reach.count, x + reach.input * of.strideC() + begin, of.x.stride * of.strideC(),
                 d + reach.output * of.strideO() + begin, of.strideO(), dWeights + tap * of.strideO() + begin);
            }
}

/// The weights of each tap and group as panels. @param isTransposed for the gradient by x
std::vector<Panels> panelsOf(const Convolution& of, const float* weights, bool isTransposed) {
    std::vector<Panels> list;
    for (int64_t tap = 0; tap < of.taps(); ++tap)
        for (int64_t group = 0; group < of.groups; ++group)
            list.emplace_back(isTransposed ? of.groupO() : of.groupC(), isTransposed ? of.groupC() : of.groupO(),
                              weights + tap * of.groupC() * of.strideO() + group * of.groupO(), of.strideO(),
                              isTransposed);
    return list;
}

} // namespace

// Each number of the results is a sum in the order of the taps and, within a tap, of the channels.

void convolve(const Convolution& of, const float* x, const float* weights, const float* bias, float* result,
              Pool& pool) {
    const int64_t rows = of.B * of.y.output * of.x.output;
    if (of.isDepthwise())
        return pool.ranges(rows, kWork / (of.taps() * of.strideC()) + 1, 1,
                           [&](int64_t begin, int64_t end) { depthwise(of, x, weights, bias, result, begin, end); });
    const std::vector<Panels> panels = panelsOf(of, weights, false);
    const int64_t parts = (of.x.output + kRows - 1) / kRows;
    pool.run(of.B * of.y.output * parts, [&](int64_t task) {
        const int64_t line = task / parts, first = task % parts * kRows, end = std::min(first + kRows, of.x.output);
        for (int64_t ox = first; ox < end; ++ox) {
            float* row = result + (line * of.x.output + ox) * of.strideO();
            std::fill_n(row, of.strideO(), 0.0f);
            if (bias != nullptr) std::copy_n(bias, of.O, row);
        }
        for (int64_t tap = 0; tap < of.taps(); ++tap) {
            const Reach reach = reachOf(of, line / of.y.output, line % of.y.output, tap, first, end);
            for (int64_t group = 0; group < of.groups && reach.count > 0; ++group)
                orderedProduct({.M = reach.count,
                                .N = of.groupO(),
                                .K = of.groupC(),
                                .a = x + reach.input * of.strideC() + group * of.groupC(),
                                .aStride = of.x.stride * of.strideC(),
                                .b = panels[static_cast<size_t>(tap * of.groups + group)].columns(),
                                .out = result + reach.output * of.strideO() + group * of.groupO(),
                                .stride = of.strideO(),
                                .keeps = true});
        }
    });
}

void convolveInputGradient(const Convolution& of, const float* d, const float* weights, float* dx, Pool& pool) {
    if (of.isDepthwise())
        return pool.ranges(of.B * of.y.input * of.x.input, kWork / (of.taps() * of.strideC()) + 1, 1,
                           [&](int64_t begin, int64_t end) { depthwiseInput(of, d, weights, dx, begin, end); });
    const std::vector<Panels> panels = panelsOf(of, weights, true);
    const int64_t image = of.y.input * of.x.input * of.strideC();
    const int64_t parts = (of.groupC() + kChannels - 1) / kChannels;
    pool.run(of.B * of.groups * parts, [&](int64_t task) { // each task writes channels of its own
        const int64_t b = task / (of.groups * parts), group = task / parts % of.groups, part = task % parts * kChannels,
                      count = std::min(kChannels, of.groupC() - part), first = group * of.groupC() + part;
        for (int64_t row = 0; row < of.y.input * of.x.input; ++row) {
            float* to = dx + b * image + row * of.strideC();
            std::fill_n(to + first, count, 0.0f);
            if (first == 0) std::fill(to + of.C, to + of.strideC(), 0.0f);
        }
        for (int64_t oy = 0; oy < of.y.output; ++oy)
            for (int64_t tap = 0; tap < of.taps(); ++tap) {
                const Reach reach = reachOf(of, b, oy, tap, 0, of.x.output);
                if (reach.count == 0) continue;
                orderedProduct({.M = reach.count,
                                .N = count,
                                .K = of.groupO(),
                                .a = d + reach.output * of.strideO() + group * of.groupO(),
                                .aStride = of.strideO(),
                                .b = panels[static_cast<size_t>(tap * of.groups + group)].columns(part),
                                .out = dx + reach.input * of.strideC() + first,
                                .stride = of.x.stride * of.strideC(),
                                .keeps = true});
            }
    });
}

void convolveWeightGradient(const Convolution& of, const float* x, const float* d, float* dWeights, Pool& pool) {
    if (of.isDepthwise()) {
        for (int64_t tap = 0; tap < of.taps(); ++tap)
            std::fill(dWeights + tap * of.strideO() + of.O, dWeights + (tap + 1) * of.strideO(), 0.0f);
        return pool.ranges(of.C, 16, 16,
                           [&](int64_t begin, int64_t end) { depthwiseWeights(of, x, d, dWeights, begin, end); });
    }
    const int64_t parts = (of.groupC() + kChannels - 1) / kChannels;
    pool.run(of.taps() * of.groups * parts, [&](int64_t task) {
        const int64_t tap = task / (of.groups * parts), group = task / parts % of.groups,
                      first = task % parts * kChannels, count = std::min(kChannels, of.groupC() - first);
        float* out = dWeights + (tap * of.groupC() + first) * of.strideO() + group * of.groupO();
        for (int64_t row = 0; row < count; ++row) {
            std::fill_n(out + row * of.strideO(), of.groupO(), 0.0f);
            if (group == of.groups - 1)
                std::fill(out + row * of.strideO() + of.groupO(),
                          out + row * of.strideO() + of.groupO() + of.strideO() - of.O, 0.0f);
        }
        for (int64_t line = 0; line < of.B * of.y.output; ++line) {
            const Reach reach = reachOf(of, line / of.y.output, line % of.y.output, tap, 0, of.x.output);
            if (reach.count == 0) continue;
            product({count, of.groupO(), reach.count},
                    {x + reach.input * of.strideC() + group * of.groupC() + first, of.x.stride * of.strideC(), true},
                    {d + reach.output * of.strideO() + group * of.groupO(), of.strideO()}, out, of.strideO(), 1, 1);
        }
    });
}

} // namespace attn::host
#endif
