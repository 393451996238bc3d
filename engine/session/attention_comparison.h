#pragma once

#include "engine/session/playground_map.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// How two attentions, A and B, differ on the same queries, keys and values.
struct AttentionComparison {
    /// Distance of the outputs, in units of the root of the mean square of A's.
    struct OutputError {
        double mean = 0, largest = 0;
    };

    std::vector<PlaygroundMap> differences; ///< A - B of what both form in one shape; NaN where both hide a cell
    std::optional<OutputError> output;      ///< none where outputs have different shapes, or A's is zero
    /// [heads, 1, 1, T] Jensen-Shannon divergence of the rows of the patterns, in bits from 0 to 1; NaN for rows that
    /// see nothing.
    /// @source Lin 1991, "Divergence Measures Based on the Shannon Entropy", IEEE Trans. Inf. Theory 37(1), eq. 3.1
    std::optional<PlaygroundMap> divergence;
    std::string remark; ///< why there is no divergence; empty: there is
};

AttentionComparison compare(std::span<const PlaygroundMap> a, std::span<const PlaygroundMap> b);

} // namespace attn
