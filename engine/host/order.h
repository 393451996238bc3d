#pragma once

#include <cstdint>

// Orders of the numbers in a row.

namespace attn::host {

/// The columns of a row by their numbers, smallest first; of equals, the lower column first. NaN counts as infinity.
void sortOrder(int64_t columns, const float* x, int32_t* order);

/// The k largest numbers of a row and their columns, largest first; of equals, the lower column first.
void topK(int64_t columns, const float* x, int64_t k, float* values, int32_t* indices);

} // namespace attn::host
