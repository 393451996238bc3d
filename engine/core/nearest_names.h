#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Finds the `count` names that need the fewest inserted, deleted or replaced letters to become `name`, nearest first
/// and ties in alphabetical order. Of long names the first 256 bytes are compared. Messages suggest them for a name
/// that does not exist.
/// @source Levenshtein 1966, "Binary codes capable of correcting deletions, insertions, and reversals"
std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string>& names, size_t count);

} // namespace attn
