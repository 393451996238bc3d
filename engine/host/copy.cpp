#include "engine/host/copy.h"

#include <algorithm>

namespace attn::host {

void copyRows(const CopiedRow& row, int64_t rows, const float* from, int64_t fromStep, float* to, int64_t toStep) {
    const int64_t end = row.before + row.columns;
    for (int64_t i = 0; i < rows; ++i, from += fromStep, to += toStep) {
        std::fill_n(to, row.before, 0.0f);
        float* out = to + row.before;
        if (row.step == 1)
            std::copy_n(from, row.columns, out);
        else if (row.step == 0)
            std::fill_n(out, row.columns, *from);
        else
            for (int64_t c = 0; c < row.columns; ++c) out[c] = from[c * row.step];
        std::fill(to + end, to + row.written, 0.0f);
    }
}

void transpose(int64_t rows, int64_t columns, const float* from, int64_t step, float* to, int64_t toStep) {
    constexpr int64_t kBlock = 16; // floats of a cache line
    for (int64_t r = 0; r < rows; r += kBlock)
        for (int64_t c = 0; c < columns; c += kBlock) {
            const int64_t lastRow = std::min(r + kBlock, rows), lastColumn = std::min(c + kBlock, columns);
            for (int64_t row = r; row < lastRow; ++row)
                for (int64_t column = c; column < lastColumn; ++column)
                    to[row * toStep + column] = from[row + column * step];
        }
}

} // namespace attn::host
