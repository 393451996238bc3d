#include "tests/support/catch.h"

#include <cctype>
#include <regex>

namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

const fs::path kRoot = fs::path(ATTN_SOURCE_DIR).lexically_normal();

Texts linesOf(const fs::path& file) {
    std::ifstream stream(file);
    Texts lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// All documents for readers of the repository.
std::vector<fs::path> documents() {
    std::vector<fs::path> found{kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "CHANGELOG.md"};
    for (const char* folder : {"docs", "assets", "tests"})
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
            if (entry.path().extension() == ".md") found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

/// The lines outside code blocks.
Texts proseOf(const fs::path& document) {
    Texts prose;
    bool isCode = false;
    for (const std::string& line : linesOf(document)) {
        const bool isFence = line.find_first_not_of(' ') != std::string::npos &&
                             line.compare(line.find_first_not_of(' '), 3, "```") == 0;
        if (isFence) isCode = !isCode;
        if (!isFence && !isCode) prose.push_back(line);
    }
    return prose;
}

Texts matches(const std::string& text, const std::regex& pattern) {
    Texts found;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at)
        found.push_back((*at)[1]);
    return found;
}

/// The anchors of the headings, as GitHub names them.
std::set<std::string> anchorsOf(const fs::path& document) {
    static const std::regex link("\\[([^\\]]*)\\]\\([^)]*\\)");
    std::set<std::string> anchors;
    std::map<std::string, int> count;
    for (const std::string& line : proseOf(document)) {
        const size_t level = line.find_first_not_of('#');
        if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
        std::string anchor;
        for (char letter : std::regex_replace(line.substr(level + 1), link, "$1")) {
            const auto byte = static_cast<unsigned char>(letter);
            if (letter == ' ')
                anchor += '-';
            else if (letter == '-' || letter == '_' || byte >= 0x80 || std::isalnum(byte))
                anchor += static_cast<char>(std::tolower(byte));
        }
        const int earlier = count[anchor]++;
        anchors.insert(earlier == 0 ? anchor : anchor + '-' + std::to_string(earlier));
    }
    return anchors;
}

/// Targets of links and pictures within the repository.
Texts linksOf(const fs::path& document) {
    static const std::regex code("`[^`]*`"), inText("\\]\\(<?([^)>\\s]+)>?[^)]*\\)"),
        asTag("(?:src|href)=\"([^\"]+)\""), elsewhere("^[a-z]+:.*");
    Texts links;
    for (const std::string& line : proseOf(document)) {
        const std::string text = std::regex_replace(line, code, "");
        for (const std::regex* form : {&inText, &asTag})
            for (const std::string& target : matches(text, *form))
                if (!std::regex_match(target, elsewhere)) links.push_back(target);
    }
    return links;
}

fs::path fileOf(const fs::path& document, const std::string& link) {
    const std::string path = link.substr(0, link.find('#'));
    return path.empty() ? document : (document.parent_path() / path).lexically_normal();
}

std::string nameOf(const fs::path& file) { return file.lexically_relative(kRoot).string(); }

/// Whether a path exists below a folder. A component may hold "<name>", which stands for any text.
bool exists(const fs::path& folder, fs::path::const_iterator part, fs::path::const_iterator end) {
    if (part == end || part->empty()) return fs::exists(folder);
    const std::string name = part->string();
    const auto next = std::next(part);
    if (name.find('<') == std::string::npos) return exists(folder / name, next, end);
    if (!fs::is_directory(folder)) return false;
    const std::string escaped = std::regex_replace(name, std::regex("\\."), "\\.");
    const std::regex pattern(std::regex_replace(escaped, std::regex("<[^>]*>"), ".+"));
    return std::ranges::any_of(fs::directory_iterator(folder), [&](const fs::directory_entry& entry) {
        return std::regex_match(entry.path().filename().string(), pattern) && exists(entry.path(), next, end);
    });
}

/// The rows of the table whose first heading is `title`.
Texts tableRows(const fs::path& document, const std::string& title) {
    Texts rows;
    bool isInside = false;
    for (const std::string& line : proseOf(document)) {
        if (line.starts_with("| " + title + " |")) {
            isInside = true;
        } else if (isInside) {
            if (!line.starts_with("|")) break;
            if (!line.starts_with("|-")) rows.push_back(line);
        }
    }
    return rows;
}

} // namespace

TEST_CASE("documents: every link and picture within the repository exists, with its heading", "[docs]") {
    Texts broken;
    for (const fs::path& document : documents())
        for (const std::string& link : linksOf(document)) {
            const fs::path file = fileOf(document, link);
            const size_t hash = link.find('#');
            const bool hasAnchor = hash != std::string::npos && file.extension() == ".md";
            if (!fs::exists(file) || (hasAnchor && !anchorsOf(file).contains(link.substr(hash + 1))))
                broken.push_back(nameOf(document) + ": " + link);
        }
    CHECK(broken == Texts());
}

TEST_CASE("documents: the README leads to every document", "[docs]") {
    std::set<fs::path> reached{kRoot / "README.md"};
    std::vector<fs::path> waiting(reached.begin(), reached.end());
    while (!waiting.empty()) {
        const fs::path document = waiting.back();
        waiting.pop_back();
        if (!fs::exists(document)) continue; // the test of links says so
        for (const std::string& link : linksOf(document))
            if (const fs::path file = fileOf(document, link); file.extension() == ".md" && reached.insert(file).second)
                waiting.push_back(file);
    }
    Texts unreached;
    for (const fs::path& document : documents())
        if (!reached.contains(document)) unreached.push_back(nameOf(document));
    CHECK(unreached == Texts());
}

TEST_CASE("documents: every path in the table of what to touch exists", "[docs]") {
    const Texts rows = tableRows(kRoot / "CONTRIBUTING.md", "to add");
    CHECK(rows.size() >= 10);
    Texts missing;
    for (const std::string& row : rows) {
        int count = 0;
        for (const std::string& code : matches(row, std::regex("`([^`]+)`"))) {
            if (code.find('/') == std::string::npos || code.find(' ') != std::string::npos) continue; // no path
            ++count;
            const fs::path path = code;
            if (!exists(kRoot, path.begin(), path.end())) missing.push_back(code);
        }
        CAPTURE(row);
        CHECK(count > 0);
    }
    CHECK(missing == Texts());
}

TEST_CASE("documents: the README is short", "[docs]") { CHECK(linesOf(kRoot / "README.md").size() <= 120); }

TEST_CASE("documents: they name only documents that their readers have", "[docs]") {
    Texts named;
    for (const fs::path& document : documents())
        for (const std::string& line : linesOf(document))
            for (const char* unknown : {"DESIGN.md", "CONVENTIONS.md"})
                if (line.find(unknown) != std::string::npos) named.push_back(nameOf(document) + ": " + line);
    CHECK(named == Texts());
}

TEST_CASE("documents: every decision has a number of its own, a date and a status", "[docs]") {
    const fs::path folder = kRoot / "docs" / "decisions";
    std::set<std::string> numbers;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name == "README.md") continue;
        CAPTURE(name);
        CHECK(std::regex_match(name, std::regex("[0-9]{4}-[a-z0-9-]+\\.md")));
        CHECK(numbers.insert(name.substr(0, 4)).second);
        const Texts lines = linesOf(entry.path());
        const auto has = [&](const char* pattern) {
            return std::ranges::any_of(
                lines, [&](const std::string& line) { return std::regex_match(line, std::regex(pattern)); });
        };
        CHECK(has("- Date: [0-9]{4}-[0-9]{2}-[0-9]{2}"));
        CHECK(has("- Status: (accepted|superseded by \\[[0-9]{4}\\]\\(.*\\))"));
    }
    CHECK(numbers.size() >= 30);
}
