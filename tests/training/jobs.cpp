#include "engine/io/run_folder.h"
#include "engine/io/run_lock.h"
#include "engine/training/checkpoint.h"
#include "engine/training/run_jobs.h"
#include "tests/io/files.h"
#include "tests/training/train_program.h"

// Training runs as other programs see them, and what attention-cli jobs does with them.

using namespace attn;
using namespace attn::test;

namespace {

/// A run with a checkpoint at each fifth step.
SmallRun runOf(const std::filesystem::path& out, int64_t steps) {
    return {.out = out, .steps = steps, .checkpointEvery = 5};
}

JobState stateOf(const std::filesystem::path& run) {
    const auto job = jobAt(run);
    return job ? job->record.status.state : JobState::Waiting;
}

/// Runs attention-cli jobs. @return its exit code
int runJobs(const std::string& arguments, std::string* text = nullptr) {
    FILE* pipe = popen(("'" + std::string(ATTN_CLI_PROGRAM) + "' jobs " + arguments + " 2>&1").c_str(), "r");
    REQUIRE(pipe);
    std::string all;
    std::array<char, 4096> piece{};
    for (size_t count = 0; (count = fread(piece.data(), 1, piece.size(), pipe)) > 0;) all.append(piece.data(), count);
    if (text) *text = all;
    INFO(all);
    return WEXITSTATUS(pclose(pipe));
}

} // namespace

TEST_CASE("run jobs: a run that was killed is interrupted, and continues with the bits of one that was left alone",
          "[training][gpu]") {
    const TemporaryFolder folder;
    const auto alone = folder / "alone", killed = folder / "killed";
    REQUIRE(TrainProgram(runOf(alone, 60)).wait() == 0);
    CHECK(stateOf(alone) == JobState::Finished);
    {
        TrainProgram program(runOf(killed, 60));
        REQUIRE(TrainProgram::waitFor([&] { return checkpoints(killed).size() >= 2; }));
        program.send(SIGSTOP); // or a fast machine may be through
        const auto job = jobAt(killed);
        REQUIRE(job);
        if (job->record.status.state == JobState::Running) CHECK(job->process.value_or(0) > 0);
        program.send(SIGKILL);
        program.send(SIGCONT);
        (void)program.wait();
    }
    if (stateOf(killed) != JobState::Finished) { // it was killed in time
        const FolderJob job = jobAt(killed).value();
        CHECK(job.record.status.state == JobState::Interrupted);
        CHECK_FALSE(job.process);
        CHECK(job.canContinue());
        CHECK(job.record.status.progress.step == *checkpointStep(checkpoints(killed).back()));
        std::string text;
        REQUIRE(runJobs("'" + folder.path().string() + "'", &text) == 0);
        CHECK(text.find("alone   finished") != std::string::npos);
        CHECK(text.find("killed  interrupted  step ") != std::string::npos);
        REQUIRE(runJobs("continue killed --in '" + folder.path().string() + "'") == 0);
    }
    CHECK(stateOf(killed) == JobState::Finished);
    REQUIRE_FALSE(bytesOf(alone / "model.safetensors").empty());
    CHECK(bytesOf(killed / "model.safetensors") == bytesOf(alone / "model.safetensors"));
    CHECK(runJobs("continue '" + killed.string() + "'") == 1); // it is finished
}

TEST_CASE("run jobs: another program pauses, continues and stops a run, which loses no step", "[training][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run";
    const std::string key = " run --in '" + folder.path().string() + "'";
    TrainProgram program({.out = run, .checkpointEvery = 5});
    REQUIRE(TrainProgram::waitFor([&] { return checkpoints(run).size() >= 2; }));
    CHECK(stateOf(run) == JobState::Running);
    CHECK(runJobs("continue" + key) == 1); // it is running already
    REQUIRE(runJobs("pause" + key) == 0);
    REQUIRE(TrainProgram::waitFor([&] { return stateOf(run) == JobState::Paused; }));
    const int64_t paused = jobAt(run)->record.status.progress.step;
    CHECK(*checkpointStep(checkpoints(run).back()) == paused); // nothing is lost if it is killed now
    std::string text;
    REQUIRE(runJobs("--json '" + folder.path().string() + "'", &text) == 0);
    CHECK(text.find("\"state\": \"paused\"") != std::string::npos);
    CHECK(text.find("\"step\": " + std::to_string(paused)) != std::string::npos);
    CHECK(text.find("\"process\": ") != std::string::npos);
    REQUIRE(runJobs("continue" + key) == 0);
    REQUIRE(TrainProgram::waitFor([&] { return *checkpointStep(checkpoints(run).back()) > paused; }));
    REQUIRE(runJobs("stop" + key) == 0);
    CHECK(program.wait() == 130);
    CHECK(program.errors().find("stopped after step") != std::string::npos);
    CHECK(stateOf(run) == JobState::Stopped);
    CHECK(jobAt(run)->canContinue());
    CHECK(runJobs("stop" + key, &text) == 1);
    CHECK(text.find("nobody works on this job: it is stopped") != std::string::npos);
}

TEST_CASE("run jobs: runs of earlier versions are listed by their checkpoints", "[training][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run";
    REQUIRE(TrainProgram(runOf(run, 10)).wait() == 0);
    std::filesystem::remove(run / "job.json");
    CHECK(stateOf(run) == JobState::Finished);
    std::filesystem::remove_all(checkpoints(run).back());
    const FolderJob job = jobAt(run).value();
    CHECK(job.record.status.state == JobState::Stopped);
    CHECK(job.record.status.progress == ofSteps(5, 10));
    std::filesystem::create_directory(folder / "other");
    CHECK_FALSE(jobAt(folder / "other"));
    CHECK(jobsIn(folder.path()).size() == 1);
    CHECK(jobsIn(folder / "nowhere").empty());
    std::filesystem::create_directory(folder / "locked");
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::none);
    CHECK_THAT(sentenceAsNobody([&] { jobsIn(folder / "locked"); }), CONTAINS("cannot be read: Permission denied"));
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_all);
    writeFile(run / "recipe.json", "{");
    CHECK(stateOf(run) == JobState::Failed);
}

TEST_CASE("run jobs: a damaged job.json is named, and the run is listed by its checkpoints", "[training][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run", other = folder / "other";
    REQUIRE(TrainProgram(runOf(run, 10)).wait() == 0);
    std::filesystem::remove_all(checkpoints(run).back());
    std::filesystem::create_directory(other);
    for (const auto& each : {run, other}) writeFile(each / "job.json", R"({"kind": "training"})");
    CHECK(stateOf(run) == JobState::Stopped);
    CHECK(jobAt(run)->canContinue());
    CHECK(stateOf(other) == JobState::Failed); // nobody knows what it was
    CHECK_FALSE(jobAt(other)->canContinue());
    std::string text;
    REQUIRE(runJobs("'" + folder.path().string() + "'", &text) == 0);
    CHECK_THAT(text, CONTAINS("run    stopped      step 5 of 10") && CONTAINS("run/job.json: is damaged") &&
                         CONTAINS("other  failed") && CONTAINS("other/job.json: is damaged"));
    REQUIRE(runJobs("continue run --in '" + folder.path().string() + "'") == 0);
    CHECK(stateOf(run) == JobState::Finished);
    CHECK_FALSE(jobAt(run)->record.status.failure); // it is written again
}

TEST_CASE("run lock: looking whether somebody has a run keeps nobody from it", "[training]") {
    const TemporaryFolder folder;
    CHECK_FALSE(RunLock::holder(folder.path()));
    {
        const RunLock lock(folder.path());
        CHECK(RunLock::holder(folder.path()) == getpid());
    }
    CHECK_FALSE(RunLock::holder(folder.path()));
    std::atomic<bool> isOver = false;
    std::thread looking([&] {
        while (!isOver) (void)RunLock::holder(folder.path());
    });
    for (int i = 0; i < 300; ++i) CHECK_NOTHROW(RunLock(folder.path()));
    isOver = true;
    looking.join();
}

TEST_CASE("attention-cli jobs: mistakes are said", "[training]") {
    const TemporaryFolder folder;
    std::string text;
    CHECK(runJobs("'" + folder.path().string() + "'", &text) == 0);
    CHECK(text.find("There are no jobs in") == 0);
    CHECK(runJobs("--json '" + folder.path().string() + "'", &text) == 0);
    CHECK(text == "[]\n");
    CHECK(runJobs("stop nothing --in '" + folder.path().string() + "'", &text) == 1);
    CHECK(text.find("there is no job named \"nothing\"") != std::string::npos);
    CHECK(runJobs("stop", &text) == 1);
    CHECK(text.find("say which job to stop") != std::string::npos);
    CHECK(runJobs("explode it", &text) == 1);
    CHECK(text.find("none of stop, pause and continue") != std::string::npos);
}
