#pragma once

#include "engine/gpu/transfer.h"
#include "engine/session/microscope.h"

namespace attn {

/// A plan that works out one tensor to look at.
struct Microscope::Looking {
    std::string name;
    int64_t room = 0;   ///< tokens that it is planned for; 0: a weight
    bool isCut = false; ///< only as many rows count as there are tokens; else there is just the room
    std::string axes{};
    std::set<std::string> edited{}; ///< hooks that it is planned for
    std::unique_ptr<GpuExecutor> executor;
};

} // namespace attn
