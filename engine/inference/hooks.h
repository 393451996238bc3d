#pragma once

#include "engine/core/shape.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// A captured hook: dense values, first axis outermost ([head, query, key] for patterns).
struct CapturedHook {
    std::string name;
    Shape shape;
    std::vector<float> values;
};

/// The hooks of a model that match globs, which are separated by commas, in execution order. `*` matches any text.
/// @param where the model, for messages
/// @throws Error listing the hooks if a glob matches none
std::vector<std::string> matchHooks(const std::vector<std::string>& hooks, const std::string& globs,
                                    const std::string& where);

} // namespace attn
