#pragma once

#include "engine/session/language_model.h"

#include <string>

namespace attn {

/// A compiled plan of a LanguageModel.
struct LanguageModel::Step {
    int64_t queries = 0; ///< most tokens of one run; 0 for views
    std::unique_ptr<GpuExecutor> executor;
};

/// Name of a layer's pattern probe.
std::string hookPattern(int layer);

} // namespace attn
