#pragma once

#include "engine/playground/playground_map.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// The differences between two attentions, A and B, on the same queries, keys and values.
struct AttentionComparison {
    /// The difference of the outputs, divided by the root mean square of A's output.
    struct OutputError {
        double mean = 0, largest = 0;
    };

    /// A - B of matrices that both have in the same shape; NaN where both hide a cell.
    std::vector<PlaygroundMap> differences;
    std::optional<OutputError> output; ///< none if the shapes differ or A's output is zero
    /// [heads, 1, 1, T] Jensen-Shannon divergence of the rows of the patterns, in bits from 0 to 1; NaN for rows
    /// without visible keys.
    /// @source Lin 1991, "Divergence Measures Based on the Shannon Entropy", IEEE Trans. Inf. Theory 37(1), eq. 3.1
    std::optional<PlaygroundMap> divergence;
    std::string remark; ///< why there is no divergence; else empty
};

/// Compares the matrices of two attentions.
AttentionComparison compare(std::span<const PlaygroundMap> a, std::span<const PlaygroundMap> b);

} // namespace attn
