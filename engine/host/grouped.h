#pragma once

#include "engine/host/pool.h"

#include <algorithm>
#include <cstdint>

// Products of rows that lie sorted into groups, each of which has a matrix of its own.

namespace attn::host {

/// Rows begins[g] to begins[g + 1] - 1 belong to group g; other rows to none.
struct Grouped {
    int64_t rows = 0, groups = 0;
    const int32_t* begins = nullptr; ///< [groups + 1]

    int64_t begin(int64_t group) const { return std::clamp<int64_t>(begins[group], 0, rows); }
    /// At least begin(group), for any numbers.
    int64_t end(int64_t group) const { return std::clamp<int64_t>(begins[group + 1], begin(group), rows); }
};

/// out = x . w of the row's group; zeros for rows of none. @param x [rows,K]  @param out [rows,N]
/// @param w [groups,N,K], or [groups,K,N] if isPlain
void groupedProduct(const Grouped& of, int64_t K, int64_t N, bool isPlain, const float* x, const float* w, float* out,
                    Pool& pool);
/// For each group the sum over its rows of a^T b. @param a [rows,N]  @param b [rows,K]  @param out [groups,N,K]
void groupedSquare(const Grouped& of, int64_t N, int64_t K, const float* a, const float* b, float* out, Pool& pool);

} // namespace attn::host
