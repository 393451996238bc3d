#pragma once

#include "engine/core/storage.h"
#include "engine/host/elementwise.h"
#include "engine/host/pool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// Products of rows with weights on the processor, added up and finished block by block while they are in the cache.
struct HostProduct {
    int64_t N = 0, stride = 0; ///< of the output
    std::vector<int64_t> K{};  ///< the columns of x, pair by pair
    bool isTransposed = false; ///< weights [N,K] of one pair, else [K,N]
    float scale = 1;
    Storage storage = Storage::F32; ///< of transposed weights

    /// @param operands x, w, x, w ...  @param finish of a whole output: its pointers advance with the rows
    void run(int64_t rows, std::span<float* const> operands, float* out, const host::Finish& finish,
             host::Pool& pool) const;

private:
    struct Output {
        float* out = nullptr;
        host::Finish finish;
    };
    void finishBlock(const Output& to, int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) const;
    void few(int64_t rows, const float* x, const float* w, const Output& to, host::Pool& pool) const;
    void panels(int64_t rows, const float* x, const float* w, const Output& to, host::Pool& pool) const;
};

} // namespace attn
