#include "tests/includes/include_rules.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace attn::test {
namespace {

struct Include {
    std::string header; ///< from the root if it is ours, else as it is written
    int line = 0;
    bool isOurs = false;
};
using Includes = std::map<std::string, std::vector<Include>>; ///< by file

std::vector<std::string> wordsOf(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

/// What stands between the quotes or brackets of an #include; empty for any other line.
std::string headerOf(const std::string& line) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') return {};
    const size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) return {};
    const size_t open = line.find_first_of("<\"", word);
    if (open == std::string::npos) return {};
    const size_t close = line.find_first_of(">\"", open + 1);
    return close == std::string::npos ? std::string() : line.substr(open + 1, close - open - 1);
}

std::vector<Include> includesOf(const fs::path& root, const fs::path& file) {
    std::vector<Include> includes;
    std::ifstream stream(file);
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        const std::string header = headerOf(line);
        if (header.empty()) continue;
        const fs::path beside = (file.parent_path() / header).lexically_relative(root).lexically_normal();
        if (fs::exists(root / header))
            includes.push_back({header, number, true});
        else if (line.find('"') != std::string::npos && fs::exists(root / beside))
            includes.push_back({beside.generic_string(), number, true});
        else
            includes.push_back({header, number, false});
    }
    return includes;
}

Includes allIncludes(const fs::path& root) {
    Includes found;
    for (const char* folder : {"engine", "app", "tests"}) {
        if (!fs::is_directory(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder))
            if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
                found[entry.path().lexically_relative(root).generic_string()] = includesOf(root, entry.path());
    }
    return found;
}

/// The innermost folder of the table that holds a file; empty if there is none.
std::string folderOf(const IncludeRules& rules, std::string path) {
    for (size_t slash; (slash = path.rfind('/')) != std::string::npos;) {
        path.resize(slash);
        if (rules.allowed.contains(path)) return path;
    }
    return {};
}

/// The standard library has names such as <vector>, without a dot or a slash.
bool isStandard(const std::string& header) {
    return std::ranges::all_of(header, [](char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; });
}

bool isAllowed(const std::string& header, const std::string& itsFolder, const std::vector<std::string>& allowed) {
    return std::ranges::any_of(allowed, [&](const std::string& entry) {
        if (entry.ends_with('/')) return header.starts_with(entry);
        if (entry.ends_with('*')) return header.starts_with(entry.substr(0, entry.size() - 1));
        return entry == header || (entry == itsFolder && !itsFolder.empty());
    });
}

/// How a source reaches a header: the files from the source to the header; empty if it does not.
std::vector<std::string> wayTo(const std::string& header, const std::string& source, const Includes& includes) {
    std::map<std::string, std::string> from{{source, {}}};
    for (std::deque<std::string> waiting{source}; !waiting.empty(); waiting.pop_front()) {
        const auto file = includes.find(waiting.front());
        if (file == includes.end()) continue;
        for (const Include& include : file->second) {
            if (!from.emplace(include.header, file->first).second) continue;
            if (include.header == header) {
                std::vector<std::string> way;
                for (std::string at = header; !at.empty(); at = from[at]) way.push_back(at);
                return {way.rbegin(), way.rend()};
            }
            if (include.isOurs) waiting.push_back(include.header);
        }
    }
    return {};
}

void checkReach(const IncludeRules::Reach& reach, const IncludeRules& rules, const Includes& includes,
                std::vector<std::string>& problems) {
    size_t count = 0;
    for (const auto& [source, own] : includes) {
        if (!source.ends_with(".cpp")) continue;
        const std::vector<std::string> way = wayTo(reach.header, source, includes);
        if (way.empty()) continue;
        ++count;
        if (isAllowed({}, folderOf(rules, source), reach.folders)) continue;
        const auto first = std::ranges::find(own, way[1], &Include::header);
        std::string text =
            source + ":" + std::to_string(first->line) + ": " + reach.header + " reaches this source through ";
        for (size_t i = 1; i + 1 < way.size(); ++i) text += (i == 1 ? "" : ", ") + way[i];
        problems.push_back(text + (way.size() == 2 ? "this line" : "") + ". " + rules.table + " keeps it out of " +
                           folderOf(rules, source) +
                           ": declare the types that a header only names (class X;), and move bodies to a .cpp");
    }
    if (reach.limit != 0 && count >= reach.limit)
        problems.push_back(reach.header + " reaches " + std::to_string(count) + " sources. " + rules.table +
                           " allows fewer than " + std::to_string(reach.limit) +
                           ", because it is slow to compile: include it in .cpp files instead of headers");
}

} // namespace

IncludeRules readIncludeRules(const fs::path& table) {
    IncludeRules rules;
    rules.table = table.filename().string();
    std::ifstream stream(table);
    if (!stream) throw std::runtime_error(table.string() + " cannot be read");
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        const std::string text = line.substr(0, line.find('#'));
        std::vector<std::string> words = wordsOf(text);
        if (words.empty()) continue;
        const auto refuse = [&](const std::string& why) {
            throw std::runtime_error(table.string() + ":" + std::to_string(number) + ": " + why);
        };
        if (words[0] == "except") {
            if (words.size() != 3 || line.find('#') == std::string::npos) refuse("write: except FILE HEADER # reason");
            rules.exceptions.push_back({words[1], words[2], number});
        } else if (words[0] == "reach") {
            const auto colon = std::ranges::find(words, ":");
            const auto count = colon - words.begin();
            if (colon == words.end() || (count != 2 && !(count == 4 && words[2] == "fewer-than")))
                refuse("write: reach HEADER [fewer-than NUMBER] : FOLDERS");
            rules.reaches.push_back({words[1], count == 4 ? std::stoul(words[3]) : 0, {colon + 1, words.end()}});
        } else {
            if (words.size() < 2 || words[1] != ":") refuse("write: FOLDER : what it may include");
            if (!rules.allowed.emplace(words[0], std::vector(words.begin() + 2, words.end())).second)
                refuse(words[0] + " has a line already");
        }
    }
    return rules;
}

std::vector<std::string> brokenIncludes(const fs::path& root, const IncludeRules& rules) {
    std::vector<std::string> problems;
    std::set<int> used; // lines of exceptions
    const Includes includes = allIncludes(root);
    const auto everywhere = rules.allowed.find("*");
    for (const auto& [file, itsIncludes] : includes) {
        const std::string folder = folderOf(rules, file);
        if (folder.empty()) {
            problems.push_back(file + ": its folder has no line in " + rules.table +
                               ": add one that names what it may include");
            continue;
        }
        const auto& allowed = rules.allowed.at(folder);
        for (const auto& [header, line, isOurs] : itsIncludes) {
            const std::string target = folderOf(rules, header);
            if (target == folder || isStandard(header) || isAllowed(header, target, allowed)) continue;
            if (everywhere != rules.allowed.end() && isAllowed(header, target, everywhere->second)) continue;
            const auto exception = std::ranges::find_if(
                rules.exceptions, [&from = file, &what = header](const IncludeRules::Exception& each) {
                    return each.file == from && each.header == what;
                });
            if (exception != rules.exceptions.end())
                used.insert(exception->line);
            else
                problems.push_back(file + ":" + std::to_string(line) + ": " + folder + " may not include " + header +
                                   ". Move the code to a folder that may, or change the line of " + folder + " in " +
                                   rules.table);
        }
    }
    for (const auto& each : rules.exceptions)
        if (!used.contains(each.line))
            problems.push_back(rules.table + ":" + std::to_string(each.line) + ": " + each.file + " does not include " +
                               each.header + " or needs no exception: remove this line");
    for (const auto& [folder, allowed] : rules.allowed)
        if (folder != "*" && !fs::is_directory(root / folder))
            problems.push_back(rules.table + ": there is no folder " + folder + ": remove its line");
    for (const auto& reach : rules.reaches) checkReach(reach, rules, includes, problems);
    return problems;
}

} // namespace attn::test
