#pragma once

#include "app/lab/widgets/lens_answer_view.h"

namespace attn {

/// What a change of the model changes about an answer: its numbers with the change less those without, where both have
/// them for the same cells, places and names; what is said of each stays readable.
LensAnswer changeOf(const LensAnswer& after, const LensAnswer& before);

} // namespace attn
