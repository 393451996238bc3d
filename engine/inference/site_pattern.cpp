#include "engine/inference/site_pattern.h"

#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {

size_t SitePattern::at(int head, int64_t cell) const {
    if (!layout.windows) return static_cast<size_t>(head * layout.cells() + cell);
    const int64_t each = layout.windows->length() * layout.windows->length();
    return static_cast<size_t>((cell / each * heads + head) * each + cell % each);
}

void SitePattern::requireWhole() const {
    if (static_cast<int64_t>(values.size()) == heads * layout.cells()) return;
    throw Error({.what = fmt::format("a pattern has {} values instead of {} heads of {}", values.size(), heads,
                                     layout.windows ? fmt::format("{} windows of {} places", layout.windows->windows,
                                                                  layout.windows->length())
                                                    : fmt::format("{} x {}", layout.tokens, layout.tokens)),
                 .where = "pattern",
                 .hint = "give the pattern of one layer"});
}

} // namespace attn
