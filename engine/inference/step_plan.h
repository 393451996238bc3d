#pragma once

#include "engine/inference/language_model.h"

#include <string>

namespace attn {

/// A compiled plan of a LanguageModel, with its executor.
struct LanguageModel::Step {
    int64_t queries = 0; ///< largest number of tokens in a run; 0 for views
    std::unique_ptr<GpuExecutor> executor;
};

} // namespace attn
