#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace attn::cli {

/// Reads a whole text as one finite number: nothing for "", "1x", "nan", "inf" and "1e999".
std::optional<double> finiteNumber(std::string_view text);
/// Reads whole numbers in decimal, with exactly these characters between them: "64,16" with ",", and "0:8,4:12" with
/// ":,:". Nothing for any other text, and for numbers that 64 bits cannot hold.
std::optional<std::vector<int64_t>> wholeNumbers(std::string_view text, std::string_view separators);

} // namespace attn::cli
