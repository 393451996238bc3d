#pragma once

#include "engine/inference/pattern_views.h"
#include "engine/inference/site_pattern.h"

#include <optional>
#include <span>

namespace attn {

/// The Jensen-Shannon divergence of two distributions over the same keys, in bits from 0 to 1.
/// @source Lin 1991, "Divergence Measures Based on the Shannon Entropy", IEEE Trans. Inf. Theory 37(1), eq. 3.1
double jensenShannonBits(std::span<const double> p, std::span<const double> q);

/// The mean divergence of the rows of two patterns, in bits. Rows are scaled to sum to 1, because pooled rows and rows
/// without some of their keys do not; a row without any weight counts as equal to every other.
/// @param rows [rows of a] the matching row of `b`; -1 leaves the row out  @param columns the same for columns
double patternDivergence(const PatternTile& a, const PatternTile& b, std::span<const int> rows,
                         std::span<const int> columns);
/// The divergence of one head on two pictures. None: a pattern is missing, or the tokens of both are not of the same
/// patches.
std::optional<double> patternDivergence(const SitePattern& a, const SitePattern& b, int head);

} // namespace attn
