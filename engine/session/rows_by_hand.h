#pragma once

#include "engine/ops/lens.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attn {

/// Rows of a pattern that are set by hand: weights of keys from 0 on. Empty: the row is the head's own.
using RowsByHand = std::function<std::vector<float>(int head, int64_t query)>;

/// Cells of some queries, pooled into one row of pixels that cover 2^level keys each, in plain loops.
class PooledRow {
public:
    struct Pixels {
        int64_t firstKey = 0; ///< of the first
        int count = 0, level = 0;
        int64_t tokens = 0; ///< keys that exist
        Pooling pooling = Pooling::Maximum;
        bool hidesFirst = false; ///< key 0 counts nowhere, and what is left of each row is divided by its sum
    };
    explicit PooledRow(const Pixels& pixels);

    /// Another query. @param weights of keys from 0 on; those beyond are 0
    void add(std::span<const float> weights);
    /// Another query, whose cells are pooled in such pixels already.
    void addPooled(std::span<const float> pixels);
    /// [count]: the largest or the mean of all cells that were added; 0 where a pixel has none.
    std::vector<float> values() const;

private:
    int64_t keysOf(int pixel) const; ///< that exist, and count

    Pixels pixels_;
    int64_t queries_ = 0;
    std::vector<double> pooled_; ///< sums or maxima
};

} // namespace attn
