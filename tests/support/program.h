#pragma once

#include "tests/support/command.h"

namespace attn::test {

/// Runs attention-cli in a shell. @param redirection of standard error  @param environment assignments of variables
inline Answer runProgram(const std::string& arguments, const char* redirection = " 2>&1",
                         const std::string& environment = {}) {
    return runCommand(environment + " '" + ATTN_CLI_PROGRAM + "' " + arguments + redirection);
}

/// Runs attention-cli, and checks its exit code and parts of its output.
inline void checkProgram(const std::string& arguments, int code, const std::vector<std::string>& parts) {
    INFO(arguments);
    const Answer answer = runProgram(arguments);
    CHECK(answer.code == code);
    for (const std::string& part : parts) CHECK_THAT(answer.text, CONTAINS(part));
}

} // namespace attn::test
