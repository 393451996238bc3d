#pragma once

#include "engine/core/storage.h"
#include "engine/host/rows.h"

#include <cstddef>
#include <cstdint>

// Kernels that read weights as they are stored. Rows have a multiple of storageBlock() numbers.

namespace attn::host {

/// The numbers of a row, as floats.
void widen(Storage storage, int64_t columns, const std::byte* row, float* out);

/// skinnyProduct() with compact rows of w. @param product without w; K is the length of a row
void compactProduct(const SkinnyProduct& product, Storage storage, const std::byte* w, int64_t begin, int64_t end);

} // namespace attn::host
