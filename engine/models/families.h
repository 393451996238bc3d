#pragma once

#include "engine/models/family.h"

// One definition per family file; the catalogue lists them.

namespace attn {

extern const ModelFamily kGpt2, kGptNeo, kGptNeoX, kLlama, kComposed;

} // namespace attn
