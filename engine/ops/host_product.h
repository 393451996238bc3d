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
    /// The most rows that a run may have. A run of fewer gives each row the bits that it has in a run of many; 0: it
    /// may give others to a few rows.
    int64_t mostRows = 0;
    std::vector<int64_t> K{};  ///< the columns of x, pair by pair
    bool isTransposed = false; ///< weights [N,K] of one pair, else [K,N]
    float scale = 1;
    Storage storage = Storage::F32; ///< of transposed weights

    /// The operands of one run.
    struct Call {
        std::span<float* const> operands; ///< x, w, x, w ...
        float* out = nullptr;
        host::Finish finish{}; ///< of the whole output: its pointers advance with the rows
    };
    void run(int64_t rows, const Call& call, host::Pool& pool) const;

    /// Several products of the same x, each with a call. The threads share those of a few rows as one product.
    /// @param products at most Op::kMaxJoined
    static void runTogether(int64_t rows, std::span<const HostProduct> products, std::span<const Call> calls,
                            host::Pool& pool);

private:
    bool hasFew(int64_t rows) const;
    static void few(int64_t rows, std::span<const HostProduct> products, std::span<const Call> calls, host::Pool& pool);
    void panels(int64_t rows, const Call& call, host::Pool& pool) const;
    void finishBlock(const Call& call, int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) const;
};

} // namespace attn
