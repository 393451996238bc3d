#pragma once

#include "engine/core/bit_row.h"

#include <span>
#include <vector>

namespace attn {

/// The values of `painted` that show these rows.
/// @param rows n rows of n keys, from 1 to 65,536
std::vector<double> paintedValues(std::span<const BitRow> rows);

} // namespace attn
