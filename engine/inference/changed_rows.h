#pragma once

#include "engine/ops/lens.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attn {

/// Returns the row of a pattern that a change sets: weights of keys from 0 on. Empty: no change sets the row.
using ChangedRows = std::function<std::vector<float>(int head, int64_t query)>;

/// Pools the cells of some queries into one row of pixels on the host. A pixel covers 2^level keys.
class PooledRow {
public:
    struct Pixels {
        int64_t firstKey = 0; ///< first key of the first pixel
        int count = 0, level = 0;
        int64_t tokens = 0; ///< number of keys
        Pooling pooling = Pooling::Maximum;
        bool hidesFirst = false; ///< see PatternTile::leavesOutFirst
    };
    explicit PooledRow(const Pixels& pixels);

    /// Adds a query. @param weights of keys from 0 on; others are 0
    void add(std::span<const float> weights);
    /// Adds a query whose cells are already pooled in the same pixels.
    void addPooled(std::span<const float> pixels);
    /// [count]: the maximum or mean of all added cells; 0 for pixels without cells.
    std::vector<float> values() const;

private:
    int64_t keysOf(int pixel) const; ///< number of keys that count in a pixel

    Pixels pixels_;
    int64_t queries_ = 0;
    std::vector<double> pooled_; ///< sums or maxima
};

} // namespace attn
