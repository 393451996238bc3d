#pragma once

#include <string_view>

namespace attn {

/// The publication that describes a mechanism.
struct Citation {
    std::string_view authors; ///< "Press et al."
    int year = 0;
    std::string_view title;
    std::string_view where;   ///< the part that the code follows: "section 3"
    std::string_view address; ///< "arXiv:2108.12409" or a journal
    bool operator==(const Citation&) const = default;
};

} // namespace attn
