#pragma once

#include "engine/core/storage.h"
#include "engine/host/integer_rows.h"
#include "engine/host/rows.h"

#include <cstddef>
#include <cstdint>
#include <vector>

// Kernels that read weights as they are stored. Rows have a multiple of storageBlock() numbers.

namespace attn::host {

/// The numbers of a row, as floats.
void widen(Storage storage, int64_t columns, const std::byte* row, float* out);
/// The numbers of rows that lie one after another, as floats of columns. @param out [columns, rows]
/// @param stride of out
void widenTransposed(Storage storage, int64_t rows, int64_t columns, const std::byte* stored, float* out,
                     int64_t stride);

/// The rows of products with compact weights, prepared once for all threads and all weights.
struct CompactRows {
    bool isInteger = false; ///< `integers` stand for the rows
    IntegerRows integers;
    std::vector<float> sums; ///< of each group of 32 of each row, for q4_k
};
/// Fills sums.
void groupSums(const SkinnyProduct& product, std::vector<float>& sums);
/// Fills what is needed for a storage.
void prepareRows(const SkinnyProduct& product, Storage storage, CompactRows& rows);

/// skinnyProduct() with compact rows of w. @param product without w; K is the length of a row
/// @param rows from prepareRows()
void compactProduct(const SkinnyProduct& product, Storage storage, const CompactRows& rows, const std::byte* w,
                    int64_t begin, int64_t end);

} // namespace attn::host
