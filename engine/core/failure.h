#pragma once

#include <string>

namespace attn {

/// A failed command: what went wrong, where, and a hint at the remedy.
struct Failure {
    std::string what, where, hint;
    std::string sentence() const;
    bool operator==(const Failure&) const = default;
};

} // namespace attn
