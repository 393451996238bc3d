#pragma once

#include "app/lab/widgets/lens_answer_view.h"

namespace attn {

/// @return the difference of two results, changed minus original, for the cells, places and names that both have.
/// Summaries and remarks show both texts where they differ.
/// @param after of the changed run  @param before of the original run
LensAnswer changeOf(const LensAnswer& after, const LensAnswer& before);

} // namespace attn
