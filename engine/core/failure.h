#pragma once

#include <string>

namespace attn {

/// A failed command: what went wrong, where, and a hint at the remedy.
struct Failure {
    std::string what, where, hint;
    std::string sentence() const; ///< as an Error says it: printable and of a length that can be shown
    bool operator==(const Failure&) const = default;
};

} // namespace attn
