#include "engine/host/paged_attention.h"

#include "engine/host/elementwise.h"
#include "engine/host/rows.h"
#include "engine/host/scores.h"

#include <algorithm>
#include <vector>

namespace attn::host {
namespace {

/// The rows of the cache that hold the keys of a row's sequence, in order. Pages that follow one another are one range.
void rangesOf(const PagedAttention& of, int64_t t, std::vector<Rows>& ranges) {
    ranges.clear();
    const int64_t own = of.sequence[t], length = std::min<int64_t>(of.lengths[own], of.mostPages * of.pageRows);
    const int32_t* pages = of.pages + own * of.pageStride;
    for (int64_t s = 0; s < length; s += of.pageRows) {
        const int64_t begin = pages[s / of.pageRows] * of.pageRows, count = std::min(of.pageRows, length - s);
        if (!ranges.empty() && ranges.back().end == begin)
            ranges.back().end += count;
        else
            ranges.push_back({begin, begin + count});
    }
}

/// Computes the heads of a group, whose keys and values are read once.
void pagedRow(const PagedAttention& paged, int64_t t, int64_t group, const std::vector<Rows>& ranges, float* z) {
    const Attention& of = paged.rows;
    const int64_t heads = of.H / of.G, first = group * heads, step = of.G * of.stride;
    int64_t length = 0;
    for (const Rows& range : ranges) length += range.count();
    float* scores = scratch(static_cast<size_t>(kMostSkinnyRows * length), 0);
    const auto keyRow = [&](const float* rows, int64_t row) { return rows + (row * of.G + group) * of.stride; };
    const float* values = nullptr; // one after another, so that they are added up as those of one range
    int64_t valueStep = step;
    if (ranges.size() == 1) {
        values = keyRow(of.v, ranges.front().begin);
    } else {
        valueStep = of.stride;
        float* to = scratch(static_cast<size_t>(length * of.stride), 1);
        values = to;
        for (const Rows& range : ranges)
            for (int64_t row = range.begin; row < range.end; ++row, to += of.stride)
                std::copy_n(keyRow(of.v, row), of.stride, to);
    }
    for (int64_t h = 0; h < heads; h += kMostSkinnyRows) {
        const int64_t count = std::min(kMostSkinnyRows, heads - h);
        float* at = scores;
        for (const Rows& range : ranges) {
            skinnyProduct({.rows = count,
                           .K = of.D,
                           .x = of.q + (t * of.H + first + h) * of.stride,
                           .w = keyRow(of.k, range.begin),
                           .out = at,
                           .xStride = of.stride,
                           .wStride = step,
                           .outStride = length,
                           .scale = of.scale},
                          0, range.count());
            for (int64_t i = 0; i < count; ++i) applyRule(of, first + h + i, t, range, Sight::Part, at + i * length);
            at += range.count();
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t head = first + h + i;
            float *row = scores + i * length, *out = z + (t * of.H + head) * of.stride;
            float maximum = kLeastMaximum, sum = 0;
            advance(length, row, &maximum, &sum);
            weightedSum(length, of.D, row, values, valueStep, out);
            scale(of.D, sum > 0 ? of.gates[head] / sum : 0, out, out);
        }
    }
}

} // namespace

void pagedAttention(const PagedAttention& of, float* z, Pool& pool) {
    constexpr int64_t kWork = 1 << 12; // multiply-adds of a thread, whose keys and values come from memory
    int64_t longest = 1;
    for (int64_t t = 0; t < of.rows.T; ++t) longest = std::max<int64_t>(longest, of.lengths[of.sequence[t]]);
    const int64_t least = kWork / std::max<int64_t>(longest * of.rows.D * (of.rows.H / of.rows.G), 1) + 1;
    pool.ranges(of.rows.T * of.rows.G, least, 1, [&](int64_t begin, int64_t end) {
        thread_local std::vector<Rows> ranges;
        for (int64_t i = begin; i < end; ++i) {
            rangesOf(of, i / of.rows.G, ranges);
            pagedRow(of, i / of.rows.G, i % of.rows.G, ranges, z);
        }
    });
}

} // namespace attn::host
