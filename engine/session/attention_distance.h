#pragma once

#include "engine/session/layer_pattern.h"

#include <vector>

namespace attn {

/// How far each head looks: the distance between the centres of a patch and of those it attends to, weighted by the
/// attention, in the mean over all patches. Only patches count, as queries and as keys: what a patch gives to CLS or
/// registers is left out and the rest scaled to sum 1; a patch that gives nothing to patches does not count. A token of
/// several patches lies in their middle.
/// @param columns of the grid of patches  @param patch pixels on a side
/// @return [heads] in pixels; NaN where no patch counts
/// @throws Error for a pattern of another size
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, appendix D.7, figure 7 right;
///         leaving out what goes to CLS is ours
std::vector<float> attentionDistances(const LayerPattern& pattern, int64_t columns, int64_t patch);

} // namespace attn
