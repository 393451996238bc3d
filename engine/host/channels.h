#pragma once

#include "engine/host/pool.h"

#include <algorithm>
#include <cstdint>

namespace attn::host {

/// Means by channel, as attn::ChannelMeanInputs has them, with padded rows of `stride` floats.
struct ChannelMean {
    int64_t B = 0, H = 0, T = 0, S = 0, D = 0, stride = 0;
    const float *k = nullptr, *v = nullptr; ///< [B,H,S]
    const float* q = nullptr;               ///< [B,H,T]; z is multiplied with its logistic function; null for none
    const float* table = nullptr;           ///< null with factors
    int64_t tableHead = 0, tableRow = 0;    ///< floats from a head and a query to the next
    const float *queryFactors = nullptr, *keyFactors = nullptr;
    int64_t F = 0, factorStride = 0;
    int64_t window = 0, behind = 0, ahead = 0;

    static constexpr int64_t kQueries = 128, kKeys = 128; ///< of a block
    static constexpr int64_t kStrip = 16;                 ///< queries of a block that are multiplied together
    /// The keys that queries [first, end) see some of.
    int64_t firstKey(int64_t first) const { return std::clamp<int64_t>(first - behind, 0, S); }
    int64_t endKey(int64_t end) const { return std::clamp<int64_t>(end + ahead, 0, S); }
    /// Whether all cells of a block are visible and have the number 0: the keys add the same to all queries.
    bool isFar(int64_t query, int64_t queryEnd, int64_t key, int64_t keyEnd) const {
        const int64_t least = key - (queryEnd - 1), most = keyEnd - 1 - query; // distances
        return window > 0 && (least >= window || most <= -window) && least >= -behind && most <= ahead;
    }
};

/// z [B,H,T,D]. @source Zhai et al. 2021, arXiv:2105.14103, section 3
void channelMean(const ChannelMean& of, float* z, Pool& pool);

} // namespace attn::host
