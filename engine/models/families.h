#pragma once

#include "engine/models/family.h"

// Each is defined in a file of its own; the catalogue lists them.

namespace attn {

extern const ModelFamily kGpt2, kGptNeo, kGptNeoX, kLlama, kBert, kRoberta, kDistilBert, kXlNet, kT5, kBart, kMarian,
    kComposed, kVit, kDeit, kDinov2, kDinov2WithRegisters, kSwin, kTimmVit, kComposedVit;

} // namespace attn
