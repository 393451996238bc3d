#pragma once

#include "engine/host/attention.h"

namespace attn::host {

/// Attention of rows that belong to several sequences, whose keys lie in pages.
struct PagedAttention {
    Attention rows; ///< S is the number of rows of the cache
    int64_t pageRows = 1, mostPages = 0, pageStride = 0;
    const int32_t *sequence = nullptr, *pages = nullptr; ///< [T]; [B, mostPages] with rows of pageStride
    const int32_t* lengths = nullptr;                    ///< [B]
};
/// z [T,H,D]. A row has the bits that attention() gives to one row whose keys lie in order.
void pagedAttention(const PagedAttention& of, float* z, Pool& pool);

} // namespace attn::host
