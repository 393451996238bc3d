#pragma once

#include <cstddef>
#include <vector>

namespace attn {

/// Groups items by average linkage: joins the two most similar groups while the mean similarity of their pairs is at
/// least `least`.
/// @param alike [n][n] similarities, symmetric
/// @return the groups, the largest first, ties by first member; each group lists its members in rising order
/// @source Sokal and Michener 1958, "A statistical method for evaluating systematic relationships" (average linkage)
std::vector<std::vector<size_t>> averageLinkage(std::vector<std::vector<double>> alike, double least);

} // namespace attn
