#pragma once

#include "engine/inference/site_pattern.h"

#include <vector>

namespace attn {

/// The mean attention distance of each head: the distance between the centres of a patch and of the patches it attends
/// to, weighted by the attention, as the mean over patches. Only patches count as queries and keys. Weights on CLS and
/// registers are left out, and the others scaled to sum to 1. A patch without weight on patches does not count. A token
/// of several patches lies at their centre.
/// @param columns patches per row  @param patch pixels per side of a patch
/// @return [heads] in pixels; NaN if no patch counts
/// @throws Error if a size does not fit
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, appendix D.7, figure 7 right;
///         leaving out the weight on CLS is ours
std::vector<float> attentionDistances(const SitePattern& pattern, int64_t columns, int64_t patch);

} // namespace attn
