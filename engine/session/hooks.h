#pragma once

#include "engine/core/shape.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// A captured hook: dense, leading axis first ([head, query, key] for patterns).
struct CapturedHook {
    std::string name;
    Shape shape;
    std::vector<float> values;
};

/// Of a model's hooks, those that match globs separated by commas, in execution order; `*` stands for any characters.
/// @param where the model, for messages
/// @throws Error naming the hooks that exist when one glob matches none
std::vector<std::string> matchHooks(const std::vector<std::string>& hooks, const std::string& globs,
                                    const std::string& where);

/// Values of padded rows without the padding.
std::vector<float> denseValues(std::span<const float> padded, const Shape& shape);

} // namespace attn
