#pragma once

#include "engine/gpu/transfer.h"
#include "engine/session/hook_edits.h"
#include "engine/session/microscope.h"

namespace attn {

/// A plan that works out one tensor to look at.
struct Microscope::Looking {
    std::string name;
    int64_t tokens = 0; ///< of the sequence; 0: a weight
    std::string axes;
    std::set<std::string> editedHooks;
    std::set<int> editedPatterns; ///< layers
    std::unique_ptr<GpuExecutor> executor;

    /// Whether it is planned for hooks that are edited so.
    bool fits(const HookEdits& edits) const {
        return edits.hooks() == editedHooks && edits.patternLayers() == editedPatterns;
    }
};

} // namespace attn
