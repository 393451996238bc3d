#include "engine/playground/pattern_window.h"

#include "engine/attention/terms.h"

#include <algorithm>

namespace attn {
namespace {

using namespace terms;

/// The most cells of all heads that are formed at once if a pixel covers many.
constexpr int64_t kCellsAtOnce = int64_t{1} << 19;

/// Rows by their index. @param x [B,H,S,F] or [S,F]  @param ids I32 [R]  @return [B,H,R,F] or [R,F]
Tensor rowsOf(Tensor x, Tensor ids) {
    const Shape shape = x.shape();
    if (shape.rank() == 2) return take(x, ids);
    const int64_t R = ids.shape()[0];
    return take(x, broadcast(reshape(ids, {1, 1, R}), {shape[0], shape[1], R}));
}

void bound(int64_t& begin, int64_t& end, int64_t& pixels, int64_t count, int64_t mostPixels) {
    begin = std::clamp<int64_t>(begin, 0, count - 1);
    end = end <= begin ? count : std::min(end, count);
    const int64_t most = std::min(end - begin, mostPixels);
    pixels = pixels <= 0 ? most : std::min(pixels, most);
}

int64_t cellsUnder(int64_t count, int64_t pixels) { return (count + pixels - 1) / pixels; }

} // namespace

PatternWindow boundedWindow(PatternWindow window, int64_t queries, int64_t keys, int64_t mostPixels) {
    bound(window.queryBegin, window.queryEnd, window.rows, queries, mostPixels);
    bound(window.keyBegin, window.keyEnd, window.columns, keys, mostPixels);
    return window;
}

int64_t firstOfPixel(int64_t pixel, int64_t pixels, int64_t begin, int64_t end) {
    return begin + pixel * (end - begin) / pixels;
}

std::vector<int32_t> positionsUnder(int64_t begin, int64_t end, int64_t pixels) {
    const int64_t each = cellsUnder(end - begin, pixels);
    std::vector<int32_t> positions;
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        const int64_t first = firstOfPixel(pixel, pixels, begin, end),
                      last = firstOfPixel(pixel + 1, pixels, begin, end) - 1;
        // A pixel that covers fewer cells repeats its last one, which does not change the maximum.
        for (int64_t i = 0; i < each; ++i) positions.push_back(static_cast<int32_t>(std::min(first + i, last)));
    }
    return positions;
}

Tensor patternWindow(const PatternFactors& factors, Tensor rows, Tensor columns, const PatternWindow& window) {
    const Shape shape = factors.queries.shape();
    const int64_t B = shape[0], H = shape[1], P = window.rows, Q = window.columns,
                  down = cellsUnder(window.queryEnd - window.queryBegin, P),
                  across = cellsUnder(window.keyEnd - window.keyBegin, Q), C = Q * across;
    const Tensor a = rowsOf(factors.queries, rows), b = rowsOf(factors.keys, columns);
    const Tensor row = reshape(toReal(rows), {P * down, 1}), column = reshape(toReal(columns), {1, C});
    const int64_t strip = std::clamp<int64_t>(kCellsAtOnce / (B * H * down * C), 1, P); // rows of pixels
    std::vector<Tensor> strips;
    for (int64_t first = 0; first < P; first += strip) {
        const int64_t count = std::min(strip, P - first), R = count * down;
        const auto own = [&](Tensor x, int axis) { return R == P * down ? x : slice(x, axis, first * down, R); };
        Tensor cells = product(own(a, 2), b); // [B,H,R,F] . [B,H,C,F]^T -> [B,H,R,C]
        if (factors.isCausal) {
            const Tensor isAhead = binary(own(row, 0), column, Binary::Less); // [R,C]
            cells = times(cells, affine(isAhead, -1, 1));
        }
        if (down * across > 1) {
            const Tensor pixels = reshape(cells, {B * H, count, down, Q, across});
            cells = reshape(reduce(reduce(pixels, Reduction::Maximum, {4}), Reduction::Maximum, {2}), {B, H, count, Q});
        }
        strips.push_back(cells);
    }
    return strips.size() == 1 ? strips.front() : concatenate(strips, 2);
}

} // namespace attn
