#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A parameter's name split at its layer: {"blocks.3.attn.W_Q"} gives layer 3 and rest "attn.W_Q"; names without the
/// prefix have layer -1 and stay whole.
struct ParameterName {
    int layer = -1;
    std::string rest;
};
ParameterName splitParameter(const std::string& parameter, std::string_view prefix = "blocks.");

/// The second of the pair whose first equals `key`. @throws Error (a bug in a family's table) if none does
std::string lookUp(const std::vector<std::pair<std::string, std::string>>& table, const std::string& key);

/// Frequencies base^(-2i/R), i < R/2. @source Su et al. 2021, arXiv:2104.09864, section 3.2.2
std::vector<double> rotaryFrequencies(double base, int rotated);

} // namespace attn
