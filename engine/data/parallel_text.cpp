#include "engine/data/parallel_text.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/data/gettext_catalogue.h"
#include "engine/data/text_parts.h"
#include "engine/data/translation_memory.h"
#include "engine/io/input_file.h"
#include "engine/io/refuse_file.h"
#include "engine/system/environment.h"
#include "engine/system/folder.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace attn {
namespace {

namespace fs = std::filesystem;

/// A text in which each line is an example. @throws Error if it is not UTF-8 or begins with column names
std::string readLines(const fs::path& path) {
    std::string text = withPlainLines(readPersonsFile(path));
    requireUtf8(text, path);
    if (const size_t line = lineOfNames(text); line > 0)
        refuseLine(path, line, "holds the names of columns", "remove this line");
    return text;
}

/// @param text valid UTF-8
std::string_view withoutSpaceAround(std::string_view text) {
    for (size_t end = 0; !text.empty() && utf8::isWhitespace(utf8::next(text, end)); end = 0) text.remove_prefix(end);
    while (!text.empty()) {
        const size_t begin = utf8::previous(text, text.size());
        size_t end = begin;
        if (!utf8::isWhitespace(utf8::next(text, end))) break;
        text = text.substr(0, begin);
    }
    return text;
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::vector<TextPair> readTabs(std::string_view text, const fs::path& path) {
    std::vector<TextPair> pairs;
    size_t number = 0;
    for (const std::string_view line : linesOf(text)) {
        ++number;
        const size_t tab = line.find('\t');
        if (tab == std::string_view::npos && withoutSpaceAround(line).empty()) continue;
        if (tab == std::string_view::npos)
            refuseFile(path, fmt::format("line {} has no tab between a text and its translation", number),
                       "write both on each line, separated by a tab, or choose a second file with the translation");
        const std::string_view rest = line.substr(tab + 1);
        pairs.push_back({std::string(line.substr(0, tab)), std::string(rest.substr(0, rest.find('\t')))});
    }
    return pairs;
}

/// Keeps the first of equal pairs. The order stays.
void dropRepeated(std::vector<TextPair>& pairs) {
    std::vector<size_t> order(pairs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t a, size_t b) {
        return std::tie(pairs[a].source, pairs[a].target, a) < std::tie(pairs[b].source, pairs[b].target, b);
    });
    std::vector<bool> isRepeated(pairs.size());
    for (size_t i = 1; i < order.size(); ++i) isRepeated[order[i]] = pairs[order[i]] == pairs[order[i - 1]];
    std::erase_if(pairs, [&, i = size_t{0}](const TextPair&) mutable { return isRepeated[i++]; });
}

/// Lines with a task, a text and an answer. The task and a colon begin the source.
std::vector<TextPair> readTaskLines(std::string_view text, const fs::path& path) {
    std::vector<TextPair> pairs;
    size_t number = 0;
    for (const std::string_view line : linesOf(text)) {
        ++number;
        if (withoutSpaceAround(line).empty()) continue;
        const size_t first = line.find('\t'), second = line.find('\t', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos)
            refuseFile(path, fmt::format("line {} is not a task, a tab, a text, a tab and an answer", number),
                       "write for example: plural<TAB>house<TAB>houses");
        const std::string_view task = withoutSpaceAround(line.substr(0, first)),
                               source = withoutSpaceAround(line.substr(first + 1, second - first - 1));
        if (task.empty() || source.empty()) continue;
        const std::string_view rest = line.substr(second + 1);
        pairs.push_back({fmt::format("{}: {}", task, source), std::string(rest.substr(0, rest.find('\t')))});
    }
    return pairs;
}

/// The pairs without surrounding space, empty sides and repetitions.
std::vector<TextPair> cleaned(std::vector<TextPair> pairs, const fs::path& path) {
    size_t number = 0;
    for (TextPair& pair : pairs) {
        ++number;
        for (std::string* side : {&pair.source, &pair.target}) {
            if (utf8::firstInvalid(*side)) // escapes and formats without lines can produce such a text
                refuseFile(path, fmt::format("text {} is not UTF-8", number), "choose a file in UTF-8");
            *side = withoutSpaceAround(*side);
        }
    }
    std::erase_if(pairs, [](const TextPair& pair) { return pair.source.empty() || pair.target.empty(); });
    dropRepeated(pairs);
    return pairs;
}

std::vector<TextPair> readTwoFiles(const fs::path& text, const fs::path& translation) {
    const std::string first = readLines(text), second = readLines(translation);
    const std::vector<std::string_view> sources = linesOf(first), targets = linesOf(second);
    if (sources.size() != targets.size())
        refuseFile(translation, fmt::format("has {} lines, but the text has {}", targets.size(), sources.size()),
                   "choose two files in which line after line corresponds");
    std::vector<TextPair> pairs;
    for (size_t i = 0; i < sources.size(); ++i) pairs.push_back({std::string(sources[i]), std::string(targets[i])});
    return pairs;
}

/// Says which lines of a table or of two files are left out. @param file of the first of them
std::string lackingSentence(size_t lacking, size_t lines, size_t first, const fs::path& file) {
    return fmt::format("{} of {} lines have an empty field, the first of them line {} of {}: training leaves them out.",
                       lacking, lines, first, inQuotes(file.filename().string()));
}

/// Says which lines of two files have no text or no translation. Lines that are empty in both part paragraphs.
std::string emptySides(const fs::path& text, const fs::path& translation) {
    const std::vector<TextPair> pairs = readTwoFiles(text, translation);
    size_t lacking = 0, first = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
        const bool hasText = !withoutSpaceAround(pairs[i].source).empty();
        if (hasText != withoutSpaceAround(pairs[i].target).empty() || lacking++ > 0) continue;
        first = i;
    }
    if (lacking == 0) return {};
    const bool isOfText = withoutSpaceAround(pairs[first].source).empty();
    return lackingSentence(lacking, pairs.size(), first + 1, isOfText ? text : translation);
}

/// The format of a file that holds pairs: ".mo", ".gmo", ".po" or ".tmx"; empty: a table with tabs.
std::string formatOf(const fs::path& path) {
    const std::string kind = lowerCase(path.extension().string());
    return kind == ".mo" || kind == ".gmo" || kind == ".po" || kind == ".tmx" ? kind : "";
}

std::vector<TextPair> readOneFile(const fs::path& path, const std::string& languages) {
    const std::string kind = formatOf(path);
    if (kind.empty()) return readTabs(readLines(path), path);
    const std::string bytes = withoutByteOrderMark(readPersonsFile(path));
    if (kind == ".mo" || kind == ".gmo") return readMoCatalogue(bytes, path);
    if (kind == ".po") {
        std::vector<TextPair> pairs = readPoCatalogue(bytes, path); // rejects other charsets by name
        requireUtf8(bytes, path);
        return pairs;
    }
    if (!isUtf16(bytes)) requireUtf8(bytes, path);
    return readTranslationMemory(bytes, path, languages);
}

} // namespace

std::vector<TextPair> readPairs(const fs::path& text, const fs::path& translation, const std::string& languages) {
    if (text.empty())
        throw Error({.what = "the task needs a text and its translation",
                     .where = "text",
                     .hint = "choose lines with a tab, a TMX file, a catalogue of gettext, or two files"});
    std::vector<TextPair> pairs =
        cleaned(translation.empty() ? readOneFile(text, languages) : readTwoFiles(text, translation), text);
    if (pairs.empty())
        refuseFile(text, "has no text with a translation", "choose a file in which texts have translations");
    return pairs;
}

std::vector<TextPair> readTasks(const fs::path& path) {
    if (path.empty())
        throw Error({.what = "the task needs a file of tasks, texts and answers",
                     .where = "text",
                     .hint = "write on each line a task, a text and its answer, separated by tabs"});
    std::vector<TextPair> pairs = cleaned(readTaskLines(readLines(path), path), path);
    if (pairs.empty())
        refuseFile(path, "has no text with an answer", "write a task, a text and its answer on each line");
    return pairs;
}

std::string unreadLines(const fs::path& path, const fs::path& translation, size_t fields) {
    if (!translation.empty()) return emptySides(path, translation);
    if (!formatOf(path).empty()) return {};
    const std::string text = readLines(path);
    const std::vector<std::string_view> lines = linesOf(text);
    size_t longer = 0, lacking = 0, firstLacking = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
        std::string_view rest = lines[i];
        const auto tabs = static_cast<size_t>(std::ranges::count(rest, '\t'));
        longer += tabs >= fields ? 1 : 0;
        if (tabs + 1 < fields || withoutSpaceAround(rest).empty()) continue;
        bool lacksOne = false;
        for (size_t field = 0; field < fields; ++field) {
            lacksOne = lacksOne || withoutSpaceAround(rest.substr(0, rest.find('\t'))).empty();
            rest.remove_prefix(std::min(rest.find('\t'), rest.size() - 1) + 1);
        }
        if (lacksOne && lacking++ == 0) firstLacking = i + 1;
    }
    std::string sentences;
    if (longer > 0)
        sentences = fmt::format(
            "{} of {} lines have more than {} fields with tabs between them: training does not read the others.",
            longer, lines.size(), fields);
    if (lacking > 0)
        sentences += (sentences.empty() ? "" : " ") + lackingSentence(lacking, lines.size(), firstLacking, path);
    return sentences;
}

std::vector<fs::path> installedCatalogues(const std::string& language) {
    std::string folder = language;
    std::ranges::replace(folder, '-', '_');
    const auto isPart = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '@'; };
    if (folder.empty() || !std::ranges::all_of(folder, isPart)) return {}; // ".." would leave the folder
    std::vector<std::string> roots = environment::dataDirectories();
    roots.emplace_back("/usr/share"); // also for a program with data folders of its own, such as a Flatpak
    std::set<std::pair<uint64_t, fs::path>, std::greater<>> found; // by size; the same folder may come twice
    for (const std::string& root : roots)
        for (const char* locales : {"locale", "locale-langpack"}) { // the latter on Ubuntu
            std::error_code ignored;
            for (const fs::path& entry : entriesOf(fs::path(root) / locales / folder / "LC_MESSAGES", ignored)) {
                std::error_code error;
                const uint64_t size = fs::file_size(entry, error);
                if (entry.extension() == ".mo" && !error) found.emplace(size, entry.lexically_normal());
            }
        }
    std::vector<fs::path> paths;
    for (const auto& [size, path] : found) paths.push_back(path);
    return paths;
}

} // namespace attn
