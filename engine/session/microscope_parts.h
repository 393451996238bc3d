#pragma once

#include "engine/gpu/transfer.h"
#include "engine/session/microscope.h"

namespace attn {

/// A plan that works out one tensor to look at.
struct Microscope::Looking {
    std::string name;
    int64_t tokens = 0; ///< of the sequence; 0: a weight
    std::string axes;
    std::unique_ptr<GpuExecutor> executor;
};

} // namespace attn
