#pragma once

#include <cstddef>
#include <vector>

namespace attn {

/// Groups things by joining the most alike groups first, as long as the mean over all pairs between two is at least
/// `least`.
/// @param alike [n][n], symmetric
/// @return each group in order; the largest first, equally large ones by their first member
/// @source Sokal and Michener 1958, "A statistical method for evaluating systematic relationships" (average linkage)
std::vector<std::vector<size_t>> averageLinkage(std::vector<std::vector<double>> alike, double least);

} // namespace attn
