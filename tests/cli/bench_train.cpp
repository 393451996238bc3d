#include "tests/io/files.h"
#include "tests/support/program.h"

// How `attention-cli bench train` starts PyTorch.

using namespace attn::test;

TEST_CASE("attention-cli bench train: its script reaches python by standard input, and no file holds it",
          "[cli][gpu]") {
    const TemporaryFolder folder;
    for (const char* name : {"programs", "temporary", "seen"}) fs::create_directory(folder / name);
    // Stands in for Python with PyTorch: keeps what it is given, and the names of the temporary files with a script.
    writeFile(folder / "programs" / "python3", "#!/bin/sh\n"
                                               "echo \"$@\" > \"$SEEN/arguments\"\n"
                                               "cat > \"$SEEN/input\"\n"
                                               "grep -rl 'import torch' \"$TMPDIR\" > \"$SEEN/scripts\"\n"
                                               "echo '{\"version\": \"9.9\", \"blas\": [], \"seconds\": [1.5]}'\n");
    fs::permissions(folder / "programs" / "python3", fs::perms::owner_all);
    const Answer answer =
        runProgram("bench train --shapes A", " 2>&1",
                   "PATH='" + (folder / "programs").string() + "':\"$PATH\" TMPDIR='" +
                       (folder / "temporary").string() + "' SEEN='" + (folder / "seen").string() + "'");
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
