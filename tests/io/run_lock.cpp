#include "engine/io/run_lock.h"

#include "tests/io/files.h"

#include <csignal>
#include <sys/stat.h>

using namespace attn;
using namespace attn::test;

TEST_CASE("run lock: a training run has one trainer at a time, and the message names its process", "[io]") {
    const TemporaryFolder folder;
    const auto taken = [&] { return sentenceOf([&] { const RunLock lock(folder.path()); }); };
    auto lock = std::make_unique<RunLock>(folder.path());
    CHECK_THAT(taken(), CONTAINS("this program trains it already"));
    lock.reset();
    CHECK(taken() == "accepted");

    int ready[2] = {}, done[2] = {};
    REQUIRE((pipe(ready) == 0 && pipe(done) == 0));
    const pid_t child = fork();
    if (child == 0) {
        const RunLock held(folder.path());
        char byte = 0;
        const bool isTold = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
        _exit(isTold ? 0 : 1);
    }
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    CHECK_THAT(taken(), CONTAINS("another program trains it already (process " + std::to_string(child) +
                                 "); stop that program first"));
    kill(child, SIGKILL); // the system releases the lock
    waitpid(child, nullptr, 0);
    CHECK(taken() == "accepted");
    for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
}

TEST_CASE("run lock: a pipe in the place of its file is refused", "[io]") {
    const TemporaryFolder folder;
    REQUIRE(mkfifo((folder / "run.lock").c_str(), 0600) == 0);
    CHECK_THAT(sentenceOf([&] { const RunLock lock(folder.path()); }), CONTAINS("is not a file; remove it"));
}
