#pragma once

#include <string_view>

namespace attn {

/// Where a mechanism comes from.
struct Citation {
    std::string_view authors; ///< "Press et al."
    int year = 0;
    std::string_view title;
    std::string_view where;   ///< "section 3": what was followed
    std::string_view address; ///< "arXiv:2108.12409" or a journal
    bool operator==(const Citation&) const = default;
};

} // namespace attn
