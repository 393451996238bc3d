#include "app/arguments/numbers.h"

#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>

namespace attn::cli {

std::optional<double> finiteNumber(std::string_view text) {
    std::istringstream stream{std::string(text)}; // some standard libraries lack std::from_chars for double
    stream.imbue(std::locale::classic());
    double value = 0;
    if (!(stream >> std::noskipws >> value) || stream.peek() != std::istringstream::traits_type::eof()) return {};
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::vector<int64_t>> wholeNumbers(std::string_view text, std::string_view separators) {
    std::vector<int64_t> values;
    const char* at = text.data();
    const char* const last = text.data() + text.size();
    for (size_t i = 0; i <= separators.size(); ++i) {
        if (i > 0 && (at == last || *at++ != separators[i - 1])) return {};
        const auto [end, error] = std::from_chars(at, last, values.emplace_back());
        if (error != std::errc()) return {};
        at = end;
    }
    return at == last ? std::optional(values) : std::nullopt;
}

} // namespace attn::cli
