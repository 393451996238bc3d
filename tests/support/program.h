#pragma once

#include "tests/support/catch.h"

#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace attn::test {

/// How a program ended and what it wrote.
struct Answer {
    int code = -1; ///< exit status; -1: it was killed
    std::string text;
};

/// Runs attention-cli in a shell. @param redirection of standard error  @param environment assignments of variables
inline Answer runProgram(const std::string& arguments, const char* redirection = " 2>&1",
                         const std::string& environment = {}) {
    const std::string command = environment + " '" + ATTN_CLI_PROGRAM + "' " + arguments + redirection;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    Answer answer;
    char piece[4096];
    for (size_t count = 0; (count = fread(piece, 1, sizeof piece, pipe)) > 0;) answer.text.append(piece, count);
    const int status = pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return answer;
}

} // namespace attn::test
