#include "tests/support/program.h"

// What the programs do where the system gives them little memory.

namespace {

/// A sanitizer reserves far more addresses than any limit here.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCanLimit = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kCanLimit = false;
#else
constexpr bool kCanLimit = true;
#endif
#else
constexpr bool kCanLimit = true;
#endif

void checkSaysSo(const std::string& program, const std::string& arguments, int limitMiB) {
    if (!kCanLimit) return;
    const std::string command = "ulimit -c 0; ulimit -v " + std::to_string(limitMiB * 1024) + " && timeout 300 '" +
                                program + "' " + arguments + " 2>&1";
    INFO(command);
    const attn::test::Answer answer = attn::test::runCommand(command);
    INFO(answer.text);
    CHECK(answer.code == 1);
    CHECK_THAT(answer.text, CONTAINS("memory is short") || CONTAINS("the memory is too short"));
    CHECK_THAT(answer.text, CONTAINS("ulimit -v"));
}

} // namespace

TEST_CASE("memory: attention-cli says that it is short", "[cli]") {
    checkSaysSo(ATTN_CLI_PROGRAM, "generate builtin:stories --max-tokens 1", 200);
    checkSaysSo(ATTN_CLI_PROGRAM, "mask causal --size 16000 --out /dev/null.npz", 600);
}

#ifdef ATTN_SCOPE_PROGRAM
TEST_CASE("memory: attention-scope says that it is short", "[cli]") {
    for (const int limitMiB : {200, 300, 400}) checkSaysSo(ATTN_SCOPE_PROGRAM, "", limitMiB);
}
#endif

#ifdef ATTN_LAB_PROGRAM
TEST_CASE("memory: attention-lab says that it is short", "[cli]") {
    for (const int limitMiB : {300, 600, 900}) checkSaysSo(ATTN_LAB_PROGRAM, "--screenshot /nowhere/x.png", limitMiB);
}
#endif
