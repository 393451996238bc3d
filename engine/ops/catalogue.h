#pragma once

#include "engine/graph/op.h"

#include <span>

namespace attn {

/// Every operation, in reading order. Tests sweep over it.
std::span<const Op* const> opCatalogue();

} // namespace attn
