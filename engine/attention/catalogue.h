#pragma once

#include "engine/attention/part.h"

namespace attn {

/// Every part of every slot, in the order in which a reader should meet them. Listings, generated controls, reference
/// cards and test sweeps iterate over it.
std::span<const Part* const> partCatalogue();

/// @return null if the slot has no such part
const Part* findPart(Slot slot, std::string_view id);
/// @throws Error naming the nearest part of the slot
const Part& partNamed(Slot slot, std::string_view id);

} // namespace attn
