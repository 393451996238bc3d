#pragma once

#include "engine/inference/language_model.h"

#include <map>
#include <string>

namespace attn {

/// A compiled plan of a LanguageModel, with its executor.
struct LanguageModel::Step {
    int64_t queries = 0; ///< largest number of tokens in a run; 0 for views
    int64_t source = 0;  ///< that of tokens of the source
    std::unique_ptr<GpuExecutor> executor;
};

/// The plans of a LanguageModel with one set of changed hooks.
struct LanguageModel::Steps {
    struct Key {
        int64_t source = 0, queries = 0, keys = 0;
        auto operator<=>(const Key&) const = default;
    };
    std::map<Key, std::unique_ptr<Step>> cached; ///< over the caches
    std::unique_ptr<Step> whole;                 ///< of the last length of a whole run
    std::unique_ptr<Step> source;                ///< of runSource()
};

/// Writes the positions of rows and of keys, those of padding too. @param from prefix of the inputs
/// @param tokens number of rows that are no padding
void writePositions(GpuExecutor& executor, const std::string& from, size_t tokens, int64_t context);

} // namespace attn
