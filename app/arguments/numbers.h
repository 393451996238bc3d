#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace attn::cli {

/// Reads a whole text as one finite number. @return none for "", "1x", "nan", "inf" and "1e999"
std::optional<double> finiteNumber(std::string_view text);
/// Reads whole numbers in decimal, separated by exactly these characters: "64,16" with ",", and "0:8,4:12" with ":,:".
/// @return none for any other text, and for numbers beyond 64 bits
std::optional<std::vector<int64_t>> wholeNumbers(std::string_view text, std::string_view separators);

} // namespace attn::cli
