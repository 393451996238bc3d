#pragma once

#include "tests/support/program.h"

#include <nlohmann/json.hpp>

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
inline nlohmann::json jsonOf(const std::string& arguments) {
    INFO(arguments);
    const Answer answer = runProgram(arguments + " --json", " 2>/dev/null");
    REQUIRE(answer.code == 0);
    return nlohmann::json::parse(answer.text);
}

} // namespace attn::test
