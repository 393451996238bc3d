#pragma once

#include "engine/core/storage.h"
#include "engine/host/integer_rows.h"
#include "engine/host/rows.h"

#include <cstddef>
#include <cstdint>

// Products with q4_0 and q4_k weights in integers, in which x86-64 processors are faster than in widening numbers of
// four bits to floats.

namespace attn::host {

/// compactProduct() of q4_0 and q4_k. @param instructions of this processor  @param rows of product.x, from splitRows()
void integerProduct(IntegerInstructions instructions, const SkinnyProduct& product, Storage storage,
                    const IntegerRows& rows, const std::byte* w, int64_t begin, int64_t end);

} // namespace attn::host
