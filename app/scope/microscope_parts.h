#pragma once

#include "app/scope/microscope.h"
#include "engine/gpu/transfer.h"

namespace attn {

/// A plan that computes one tensor to show.
struct Microscope::TensorPlan {
    std::string name;
    int64_t room = 0;   ///< largest number of tokens; 0: a parameter
    bool isCut = false; ///< only the rows of tokens are valid; else all rows are
    std::string axes{};
    std::set<std::string> edited{}; ///< hooks that can be changed in it
    std::unique_ptr<GpuExecutor> executor;
};

} // namespace attn
