#include "tests/io/files.h"
#include "tests/support/program.h"

// What attention-bench says and how it starts PyTorch.

#ifdef ATTN_BENCH_PROGRAM

using namespace attn::test;

TEST_CASE("attention-bench train: its script reaches python by standard input, and no file holds it", "[cli][gpu]") {
    const TemporaryFolder folder;
    for (const char* name : {"programs", "temporary", "seen"}) fs::create_directory(folder / name);
    // Stands in for Python with PyTorch: keeps what it is given, and the names of the temporary files with a script.
    writeFile(folder / "programs" / "python3", "#!/bin/sh\n"
                                               "echo \"$@\" > \"$SEEN/arguments\"\n"
                                               "cat > \"$SEEN/input\"\n"
                                               "grep -rl 'import torch' \"$TMPDIR\" > \"$SEEN/scripts\"\n"
                                               "echo '{\"version\": \"9.9\", \"blas\": [], \"seconds\": [1.5]}'\n");
    fs::permissions(folder / "programs" / "python3", fs::perms::owner_all);
    const Answer answer = runCommand("PATH='" + (folder / "programs").string() + "':\"$PATH\" TMPDIR='" +
                                     (folder / "temporary").string() + "' SEEN='" + (folder / "seen").string() + "' '" +
                                     ATTN_BENCH_PROGRAM + "' train --shapes A 2>&1");
    INFO(answer.text);
    CHECK(answer.code == 0);
    CHECK_THAT(answer.text, CONTAINS("1500.0") && CONTAINS("PyTorch 9.9"));

    const auto seen = [&](const char* name) {
        std::ifstream file(folder / "seen" / name);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    CHECK_THAT(seen("arguments"), CONTAINS("- 2 4 64 64 32 ")); // "-": the script is standard input
    CHECK_THAT(seen("input"), CONTAINS("import torch\n") && CONTAINS("print(json.dumps("));
    CHECK(seen("scripts").empty());
    CHECK(fs::is_empty(folder / "temporary"));
}

TEST_CASE("attention-bench: a wrong command line is refused, and every benchmark explains itself", "[cli]") {
    const std::string program = std::string("'") + ATTN_BENCH_PROGRAM + "' ";
    for (const char* arguments : {"train --shapes D", "ops nothing", "--only nothing", "long-pattern --tokens 0"}) {
        INFO(arguments);
        const Answer answer = runCommand(program + arguments + " 2>&1");
        CHECK(answer.code == 2);
        CHECK_THAT(answer.text, CONTAINS("See: attention-bench"));
    }
    for (const char* name : {"train", "memory", "precision", "long-pattern", "ops", "texts", "window"}) {
        INFO(name);
        const Answer answer = runCommand(program + name + " --help");
        CHECK(answer.code == 0);
        CHECK_THAT(answer.text, CONTAINS(std::string("\nExamples:\n  attention-bench ") + name));
    }
}

#endif
