#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

// Keeps the work on a user's file proportional to its size, even with very long lines or words.

namespace attn {

class Tokenizer;

/// Bytes of a text that are read for each token of the context. The rest of a longer text would be cut off anyway: a
/// token has about 4 bytes.
inline constexpr size_t kMostBytesPerToken = 256;

/// Reads a file of a person's, of at most 64 MiB. @throws Error naming the file if it is empty or cannot be read
std::string readPersonsFile(const std::filesystem::path& path);
/// A text without a byte order mark, whose lines all end with "\n", as text files are read elsewhere.
std::string withPlainLines(std::string text);
/// A text with small letters in place of the capitals A to Z.
std::string lowerCase(std::string_view text);
/// A text without the spaces, tabs and ends of lines around it.
std::string_view trimmed(std::string_view text);
/// The number of the first line with a word, if all its fields are names of columns, as "label" and "text"; 0: they are
/// not. @param text of lines of fields with tabs between them
size_t lineOfNames(std::string_view text);
/// @throws Error naming the first line of the file that is not UTF-8
void requireUtf8(std::string_view text, const std::filesystem::path& path);

/// The first bytes of a text, at most so many, without a part of a character at the end.
std::string_view firstBytes(std::string_view text, size_t most);

/// The beginning of a text that may fill a context of so many tokens.
std::string_view beginningOf(std::string_view text, size_t tokens);

/// The beginning of a text, cut at the end of its last token: for texts that are encoded repeatedly.
/// @throws Error as Tokenizer::encode
std::string_view beginningOf(std::string_view text, const Tokenizer& tokenizer, size_t tokens);

/// Gives a text in parts of at most 1 MiB, so that work on one takes little memory. Parts end before white space, where
/// words of GPT-2 and of BERT end too; a word without an end is cut. @param text valid UTF-8
void forEachPart(std::string_view text, const std::function<void(std::string_view part)>& take);

} // namespace attn
