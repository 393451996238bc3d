#pragma once

#include "engine/attention/part.h"

namespace attn {

/// Every part of every slot, in the order in which a reader should meet them. Listings, generated controls, reference
/// cards and test sweeps iterate over it.
std::span<const Part* const> partCatalogue();

/// Finds a part by its id. @return null if the slot has no such part
const Part* findPart(Slot slot, std::string_view id);
/// Finds a part by its id. @throws Error naming the nearest part of the slot if there is none
const Part& partNamed(Slot slot, std::string_view id);

} // namespace attn
