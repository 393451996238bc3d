#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A parameter's name split at its layer: "blocks.3.attn.W_Q" has layer 3 and rest "attn.W_Q". A name without the
/// prefix has layer -1 and is its own rest.
struct ParameterName {
    int layer = -1;
    std::string rest;
};
ParameterName splitParameter(const std::string& parameter, std::string_view prefix = "blocks.");

/// The second member of the pair whose first is `key`. @throws Error if there is none, a bug in the family's table
std::string lookUp(const std::vector<std::pair<std::string, std::string>>& table, const std::string& key);

/// Rotary frequencies base^(-2i/R) for i < R/2, where R is `rotated`. @source Su et al. 2021, arXiv:2104.09864,
/// section 3.2.2
std::vector<double> rotaryFrequencies(double base, int rotated);

} // namespace attn
