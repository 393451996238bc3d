#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// The bytes of one name, path or value from a file that a message shows: enough to recognise it.
inline constexpr size_t kMostQuotedBytes = 120;

/// Makes text that may come from a stranger's file safe to show: one line, without terminal escapes. Control
/// characters, characters that turn the direction of writing, other invisible characters and bytes that are not UTF-8
/// become escapes such as \x1b or \u202e. Printable characters, quotes and backslashes stay as they are.
/// @param most bytes of the text that are kept; "..." stands for the rest
std::string printable(std::string_view text, size_t most = kMostQuotedBytes);

/// printable() of a whole text, which keeps its lines and tabs: for a terminal.
std::string printableLines(std::string_view text);

/// The bytes of an argument or a path that a message shows.
inline constexpr size_t kMostShownBytes = 200;
/// The beginning and the end of a text of more than kMostShownBytes, with "..." between them.
std::string shortened(std::string_view text);
/// Shortens what a message quotes: each text between double quotes, and each word.
std::string withShortQuotes(std::string_view message);

/// A number for readers: 46040 as "46,040".
std::string groupDigits(size_t number);

/// "a, b, c": one string of each element, such as &Choice::id.
template <class Elements, class String> std::string joined(const Elements& elements, String string) {
    std::string list;
    for (const auto& element : elements) {
        if (!list.empty()) list += ", ";
        list += std::invoke(string, element);
    }
    return list;
}

/// The text in double quotes, as printable() shows it.
std::string inQuotes(std::string_view text, size_t most = kMostQuotedBytes);

} // namespace attn
