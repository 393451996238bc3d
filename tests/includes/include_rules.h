#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

// Which folder may include what. The rules stand in folders.txt. Needs the standard library only, so that `./dev lint`
// compiles it with one call of a compiler.

namespace attn::test {

/// A table of rules.
struct IncludeRules {
    /// Which headers a folder may include: folders, single headers, or beginnings of names that end in "/" or "*".
    std::map<std::string, std::vector<std::string>> allowed;
    /// An include that stands for itself.
    struct Exception {
        std::string file, header;
        int line = 0; ///< in the table
    };
    std::vector<Exception> exceptions;
    /// A header that may reach only the sources of some folders, through any number of other headers.
    struct Reach {
        std::string header;
        size_t limit = 0; ///< fewer sources than this; 0: any number
        std::vector<std::string> folders;
    };
    std::vector<Reach> reaches;
    std::string table; ///< its name, for messages
};

/// Reads a table. @throws std::runtime_error naming a line that is not understood
IncludeRules readIncludeRules(const std::filesystem::path& table);

/// Checks every #include of the folders engine, app and tests below a folder.
/// @return sentences that name the place, the rule and the remedy; empty if all is well
std::vector<std::string> brokenIncludes(const std::filesystem::path& root, const IncludeRules& rules);

} // namespace attn::test
