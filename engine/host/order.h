#pragma once

#include <cstdint>

// Orders of the numbers in a row.

namespace attn::host {

/// The columns of a row in the order of their numbers, smallest first. Among equal numbers, the lower column comes
/// first. NaN counts as infinity.
void sortOrder(int64_t columns, const float* x, int32_t* order);

/// The k largest numbers of a row and their columns, largest first. Among equal numbers, the lower column comes first.
void topK(int64_t columns, const float* x, int64_t k, float* values, int32_t* indices);

} // namespace attn::host
