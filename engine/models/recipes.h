#pragma once

#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The second member of the pair whose first is `key`. @throws Error if there is none, a bug in the family's table
std::string lookUp(const std::vector<std::pair<std::string, std::string>>& table, const std::string& key);

} // namespace attn
