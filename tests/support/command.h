#pragma once

#include "tests/support/catch.h"

#include <cstdio>
#include <sys/wait.h>

namespace attn::test {

/// How a program ended and what it wrote.
struct Answer {
    int code = -1; ///< exit status; -1: it was killed
    std::string text;
};

/// Runs a command in a shell.
inline Answer runCommand(const std::string& command) {
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
