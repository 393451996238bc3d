#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn::test {

/// The calls of std::filesystem in engine and app that throw when a folder cannot be read: those whose last argument
/// is no std::error_code called "error" or "ignored", and loops over a directory_iterator. One sentence for each, with
/// file, line and remedy.
std::vector<std::string> throwingFileCalls(const std::filesystem::path& root);

/// The texts in engine and app that spell the name of a block ("blocks.3.hook_resid_pre") themselves. Only hook_names
/// and the readers of files with such names may. One sentence for each.
std::vector<std::string> spelledBlockNames(const std::filesystem::path& root);

/// The comparisons in engine and app that tell a part of attention by its id or a mask by its text, outside the folders
/// in which parts and mask terms are defined. A field of Part states such a fact. One sentence for each.
std::vector<std::string> partsToldById(const std::filesystem::path& root);

/// The places in app/lab that could read a text of a file as markup, which may name files that Qt would open: labels
/// that are not made by plainLabel(), markup that readsMarkup() has not asked for, and Qt's boxes and documents of
/// markup. One sentence for each.
std::vector<std::string> guessedMarkup(const std::filesystem::path& root);

/// The boxes for numbers in app/lab that do not say when they replace a number.
std::vector<std::string> boxesOfQt(const std::filesystem::path& root);
/// The views of std::ranges in engine and app, and the algorithms that answer with one. Clang 14 cannot read those of
/// libstdc++ 12, so that `./dev lint` and `./dev fuzz` would stop at the file. One sentence for each.
std::vector<std::string> viewsOfRanges(const std::filesystem::path& root);

/// The texts in app that QString::arg puts into a sentence before another call of arg, which would fill the "%1" in
/// such a text. One call with all arguments leaves texts as they are. One sentence for each.
std::vector<std::string> chainedTexts(const std::filesystem::path& root);

/// The words that docs/glossary.md has in italics under "do not say", where comments, texts with a space and documents
/// use them: in engine, app, docs and the lessons. Dated documents (decisions, the changelog) and the glossary itself
/// are not read. One sentence for each use.
std::vector<std::string> forbiddenWords(const std::filesystem::path& root);

} // namespace attn::test
