#include "engine/models/model_source.h"
#include "engine/training/checkpoint.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/training/train_program.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Runs the command line's train. @param killAfter milliseconds, negative: lets it end
/// @return its exit code, or minus the signal that ended it
int runTraining(const std::vector<std::string>& arguments, int killAfter) {
    TrainProgram program(arguments);
    if (killAfter >= 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(killAfter));
        program.send(SIGKILL);
    }
    return program.wait();
}

int64_t lastStep(const std::filesystem::path& run) {
    const auto all = checkpoints(run);
    return all.empty() ? -1 : checkpointStep(all.back()).value();
}

} // namespace

TEST_CASE(
    "training: kill -9 at any moment loses no checkpoint, and the run ends with the bits of one that was left alone",
    "[training][gpu]") {
    const TemporaryFolder folder;
    const auto alone = folder.path() / "alone", killed = folder.path() / "killed";
    const auto arguments = [](const fs::path& out) {
        return SmallRun{.out = out, .steps = 120, .checkpointEvery = 2}.arguments();
    };
    const auto resumed = [&] { return std::vector<std::string>{"--resume", "--out", killed.string()}; };
    REQUIRE(runTraining(arguments(alone), -1) == 0);

    std::mt19937 random(11);
    int kills = 0;
    while (kills < 25) {
        if (lastStep(killed) == 120) std::filesystem::remove_all(killed); // a fast machine was through: begin again
        const int64_t before = lastStep(killed);
        const int ended =
            runTraining(before < 0 ? arguments(killed) : resumed(), std::uniform_int_distribution(0, 900)(random));
        kills += ended == -SIGKILL ? 1 : 0;
        REQUIRE((ended == -SIGKILL || ended == 0)); // a damaged run would be refused
        CHECK(lastStep(killed) >= before);
        if (lastStep(killed) >= 0) CHECK_NOTHROW(openModelSource(checkpoints(killed).back().string()));
    }
    REQUIRE(runTraining(lastStep(killed) < 0 ? arguments(killed) : resumed(), -1) == 0);
    CHECK(lastStep(killed) == 120);
    REQUIRE_FALSE(bytesOf(alone / "model.safetensors").empty());
    CHECK(bytesOf(killed / "model.safetensors") == bytesOf(alone / "model.safetensors"));
}
