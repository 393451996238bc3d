#include "engine/models/bundled.h"
#include "tests/cli/commands.h"
#include "tests/support/answers.h"

// Help of the programs, and the pages that `./dev docs` writes from it.

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

namespace {

/// The programs of this build, which need not have a display.
std::vector<std::string> programs() {
    std::vector<std::string> paths{ATTN_CLI_PROGRAM};
#ifdef ATTN_SCOPE_PROGRAM
    paths.emplace_back(ATTN_SCOPE_PROGRAM);
#endif
#ifdef ATTN_LAB_PROGRAM
    paths.emplace_back(ATTN_LAB_PROGRAM);
#endif
    return paths;
}

std::string outputOf(const std::string& program, const std::string& arguments) {
    const Answer answer = runCommand("'" + program + "' " + arguments);
    REQUIRE(answer.code == 0);
    return answer.text;
}

std::string contentsOf(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    REQUIRE(stream);
    return {std::istreambuf_iterator<char>(stream), {}};
}

size_t columnsOf(const std::string& line) {
    size_t columns = 0;
    for (const char c : line) columns += (c & '\xc0') != '\x80';
    return columns;
}

} // namespace

TEST_CASE("documentation: the manual pages are what the programs print", "[cli]") {
    for (const std::string& program : programs()) {
        const std::string name = fs::path(program).filename().string();
        INFO(name << ": run ./dev docs and commit what it changes");
        const bool isSame =
            outputOf(program, "--help=man") == contentsOf(fs::path(ATTN_SOURCE_DIR) / "assets/man" / (name + ".1"));
        CHECK(isSame);
    }
}

TEST_CASE("help: train names the source of a task", "[cli]") {
    const std::string help = outputOf(ATTN_CLI_PROGRAM, "train --help");
    CHECK_THAT(help, CONTAINS("\nTasks:\n"));
    CHECK_THAT(help, CONTAINS("Source: Lee et al. 2023"));
}

TEST_CASE("help: every command has a summary, a usage line, an example and lines that fit", "[cli]") {
    REQUIRE(commands().size() >= 19);
    for (const std::string& command : commands()) {
        INFO(command);
        const std::string help = outputOf(ATTN_CLI_PROGRAM, command + " --help");
        CHECK_THAT(help, CONTAINS(".\n\nUsage:\n  attention-cli " + command));
        CHECK_THAT(help, CONTAINS("\nOptions:\n"));
        CHECK_THAT(help, CONTAINS("\nExamples:\n  attention-cli " + command));
        std::istringstream lines(help.substr(0, help.find("\nExamples:")));
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK(columnsOf(line) <= 96);
        }
    }
}

TEST_CASE("help: the list of commands is grouped and PATH names every built-in model", "[cli]") {
    const std::string help = outputOf(ATTN_CLI_PROGRAM, "--help");
    for (const std::string group :
         {"Look at a model", "Change a model's run", "Attention by itself", "Train and evaluate", "System"})
        CHECK_THAT(help, CONTAINS("\n" + group + ":\n  "));
    for (const char* command : {"generate", "models", "classify", "detect"}) {
        const std::string text = outputOf(ATTN_CLI_PROGRAM, std::string(command) + " --help");
        CHECK_THAT(text, CONTAINS("builtin:induction"));
        for (const BundledModel& model : bundledModels()) CHECK_THAT(text, CONTAINS(model.path));
    }
}

TEST_CASE("help: a wrong command line names the mistake and the help that corrects it", "[cli]") {
    checkAnswers("cli/mistakes.json", "", [](const std::string& arguments) {
        const Answer answer = runProgram(arguments);
        CHECK(answer.code == 2);
        return answer.text;
    });
}

TEST_CASE("attention-cli parts: parts are listed as compositions write them", "[cli]") {
    const std::string parts = outputOf(ATTN_CLI_PROGRAM, "parts --slot mask");
    CHECK_THAT(parts, CONTAINS("  adaptive_span(span, ramp, penalty) "));
    CHECK_THAT(parts, CONTAINS("  causal "));
}
