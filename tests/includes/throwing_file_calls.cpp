#include "tests/includes/throwing_file_calls.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

namespace fs = std::filesystem;

namespace attn::test {
namespace {

const std::regex kCall("\\b(?:fs|filesystem)::(exists|is_[a-z_]+|status|symlink_status|file_size|create_[a-z_]+|remove|"
                       "remove_all|rename|copy|copy_file|read_symlink|canonical|weakly_canonical|absolute|relative|"
                       "proximate|current_path|equivalent|last_write_time|permissions|resize_file|space|"
                       "temp_directory_path|directory_iterator|recursive_directory_iterator)\\b");
constexpr const char* kHome = "engine/core/folder.cpp"; ///< the one source that iterates over a folder

/// The arguments of a call: what stands between the parenthesis at `open` and its partner, without closing ones.
std::string argumentsAt(const std::string& text, size_t open) {
    size_t end = open, depth = 0;
    do {
        if (text[end] == '(') ++depth;
        if (text[end] == ')') --depth;
        ++end;
    } while (depth > 0 && end < text.size());
    while (end > open && (text[end - 1] == ')' || text[end - 1] == ' ')) --end;
    return text.substr(open, end - open);
}

void checkFile(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    for (std::sregex_iterator call(text.begin(), text.end(), kCall), end; call != end; ++call) {
        const auto at = static_cast<size_t>(call->position()), after = at + static_cast<size_t>(call->length());
        const std::string name = (*call)[1];
        const bool iterates = name.ends_with("directory_iterator");
        if (iterates ? file == kHome : after >= text.size() || text[after] != '(') continue;
        if (!iterates) {
            const std::string arguments = argumentsAt(text, after);
            if (arguments.ends_with("error") || arguments.ends_with("ignored")) continue;
        }
        const auto line = std::count(text.begin(), text.begin() + call->position(), '\n') + 1;
        problems.push_back(file + ":" + std::to_string(line) + ": " + name + " throws if a folder cannot be read. " +
                           (iterates ? "Use entriesOf of engine/core/folder.h"
                                     : "Pass a std::error_code, called error or ignored, as its last argument"));
    }
}

} // namespace

std::vector<std::string> throwingFileCalls(const fs::path& root) {
    std::vector<fs::path> sources;
    for (const char* folder : {"engine", "app"})
        if (fs::is_directory(root / folder))
            for (const auto& entry : fs::recursive_directory_iterator(root / folder))
                if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
                    sources.push_back(entry.path());
    std::sort(sources.begin(), sources.end());
    std::vector<std::string> problems;
    for (const fs::path& source : sources) {
        std::ifstream stream(source, std::ios::binary);
        checkFile(source.lexically_relative(root).generic_string(), {std::istreambuf_iterator<char>(stream), {}},
                  problems);
    }
    return problems;
}

} // namespace attn::test
