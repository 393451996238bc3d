#pragma once

#include "engine/inference/site_pattern.h"

#include <span>
#include <vector>

namespace attn {

/// The maximum flow from each input row to rows of the last layer. The values of each map are the capacities between
/// the rows above and below it.
/// @param maps first to last; the columns of each are the rows of the one before
/// @param ends [rows of the last map] how much may flow out of each
/// @return [columns of the first map] in the unit of the maps, not scaled
/// @source Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928, section 3
std::vector<double> maximumFlows(std::span<const TokenMap> maps, std::span<const double> ends);

} // namespace attn
