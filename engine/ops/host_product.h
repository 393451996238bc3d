#pragma once

#include "engine/host/elementwise.h"
#include "engine/host/pool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// Products of rows with weights on the processor, added up and finished block by block while they are in the cache.
struct HostProduct {
    int64_t N = 0, stride = 0; ///< of the output
    std::vector<int64_t> K{};  ///< the columns of x, pair by pair
    bool isTransposed = false; ///< weights [N,K], else [K,N]
    float scale = 1;

    /// @param operands x, w, x, w ...  @param finish of a whole output: its pointers advance with the rows
    void run(int64_t rows, std::span<float* const> operands, float* out, const host::Finish& finish,
             host::Pool& pool) const;
};

} // namespace attn
