#pragma once

#include "tests/support/program.h"

#include <nlohmann/json_fwd.hpp>

namespace attn::test {

/// Commands that `attention-cli --help` lists below the titles of groups.
inline std::vector<std::string> commands() {
    std::vector<std::string> names;
    std::istringstream lines(runProgram("--help").text);
    bool isInGroup = false;
    for (std::string line; std::getline(lines, line) && line != "Options:";) {
        if (line.ends_with(':')) isInGroup = line != "Usage:";
        if (isInGroup && line.starts_with("  ") && line[2] != ' ')
            names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return names;
}

/// What a command prints with --json.
nlohmann::json jsonOf(const std::string& arguments);

} // namespace attn::test
