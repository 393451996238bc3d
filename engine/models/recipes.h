#pragma once

#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The second member of the pair whose first is `key`. @throws Error if there is none, a bug in the family's table
std::string lookUp(const std::vector<std::pair<std::string, std::string>>& table, const std::string& key);

/// Rotary frequencies base^(-2i/R) for i < R/2, where R is `rotated`. @source Su et al. 2021, arXiv:2104.09864,
/// section 3.2.2
std::vector<double> rotaryFrequencies(double base, int rotated);

} // namespace attn
