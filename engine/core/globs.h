#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Whether a glob matches; `*` matches any text.
bool matchesGlob(std::string_view glob, std::string_view name);

/// The parts of a list such as "a, b", without blanks around them. Empty parts are left out.
std::vector<std::string> splitAtCommas(const std::string& text);

} // namespace attn
