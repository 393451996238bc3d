#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// Multiplies each row by the matrix of its group, such as the expert that it is sent to.
/// @param x      [R,K], sorted by group
/// @param w      [groups,N,K]: one matrix [out, in] each
/// @param begins I32 [groups + 1]: rows begins[g] to begins[g + 1] - 1 belong to group g, and others to none
/// @return [R,N]; zeros for rows of no group. x and w have gradients
/// @source Gale et al. 2022, "MegaBlocks", arXiv:2211.15841, section 5 (rows sorted, none dropped)
Tensor groupedMatmul(Tensor x, Tensor w, Tensor begins);

/// Where each group begins once rows are sorted by group. @param groups I32 [R], in any order  @param count of groups
/// @return I32 [count + 1]
Tensor groupBegins(Tensor groups, int64_t count);

} // namespace attn
