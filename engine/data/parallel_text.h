#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// A text and its translation.
struct TextPair {
    std::string source, target;
    bool operator==(const TextPair&) const = default;
};

/// Reads pairs from a file with a text and its translation on each line, separated by a tab; a TMX file; a catalogue of
/// gettext (.po or .mo); or two files whose lines correspond. White space around a text goes. Pairs with an empty side
/// and repeated pairs are left out.
/// @param translation second file; empty: `text` holds both  @param languages of a TMX file, "en-de"
/// @throws Error naming the file, the problem and the remedy
std::vector<TextPair> readPairs(const std::filesystem::path& text, const std::filesystem::path& translation,
                                const std::string& languages);

/// Reads lines of a task, a text and an answer, separated by tabs: "plural", "house" and "houses" give the source
/// "plural: house" and the target "houses". Leaves out what readPairs() leaves out. @throws Error like readPairs()
/// @source Raffel et al. 2020, arXiv:1910.10683, section 2.4
std::vector<TextPair> readTasks(const std::filesystem::path& path);

/// Names what readPairs() or readTasks() do not read of lines: the fields behind the first `fields` of a line with
/// tabs, such as the source of a sentence, and lines of which one of the first is empty, or one side of two files.
/// @param translation second file; empty: `path` holds all  @return sentences; empty: all is read
/// @throws Error like readPairs()
std::string unreadLines(const std::filesystem::path& path, const std::filesystem::path& translation, size_t fields);

/// The catalogues (.mo) with which programs on this computer speak a language, the largest first.
/// @param language "de", "pt-BR" or "pt_BR"
std::vector<std::filesystem::path> installedCatalogues(const std::string& language);

} // namespace attn
