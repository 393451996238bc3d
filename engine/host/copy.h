#pragma once

#include <cstdint>

// Copies of parts of tensors. A float may hold the bits of an integer.

namespace attn::host {

/// How the rows of a part are filled: zeros, then `columns` floats that lie `step` apart, then zeros.
struct CopiedRow {
    int64_t before = 0;  ///< zeros in front
    int64_t columns = 0; ///< floats that are copied
    int64_t written = 0; ///< floats in all
    int64_t step = 1;    ///< from column to column of the source; 0 repeats one float
};
/// @param fromStep,toStep floats from row to row
void copyRows(const CopiedRow& row, int64_t rows, const float* from, int64_t fromStep, float* to, int64_t toStep);

/// Writes `rows` rows of `columns` floats, in which row r and column c come from from[r + c * step].
void transpose(int64_t rows, int64_t columns, const float* from, int64_t step, float* to, int64_t toStep);

} // namespace attn::host
