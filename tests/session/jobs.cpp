#include "engine/analysis/head_kinds.h"
#include "engine/jobs/job_file.h"
#include "engine/jobs/job_list.h"
#include "engine/session/cost_session.h"
#include "engine/session/training_session.h"
#include "engine/training/recipe.h"
#include "engine/training/run_jobs.h"
#include "tests/session/session_test.h"

#include <fstream>
#include <mutex>
#include <set>
#include <thread>

// Long work of sessions in the list of jobs.

using namespace attn;
using attn::test::TemporaryFolder;

namespace {

Recipe jobRecipe(int64_t steps) {
    Recipe recipe{.task = "reverse", .batch = 8};
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = steps};
    recipe.evaluateEvery = 1'000'000;
    recipe.checkpointEvery = 4;
    return recipe;
}

/// The listed job with a folder.
std::optional<JobStatus> listed(const std::filesystem::path& folder) {
    const auto jobs = JobList::shared().latest(); // which another thread replaces
    for (const JobStatus& job : jobs->jobs)
        if (job.folder == folder) return job;
    return std::nullopt;
}

bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 120'000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

bool isListedAs(const std::filesystem::path& folder, JobState state) {
    return eventually([&] {
        const auto job = listed(folder);
        return job && job->state == state;
    });
}

std::string fileBytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

constexpr int64_t kEndless = 1'000'000;

} // namespace

TEST_CASE("session jobs: a training run is listed, and the list pauses, continues and stops it", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run";
    TrainingSession session(test::kTestDevice);
    session.start(run, jobRecipe(kEndless), true);
    REQUIRE(isListedAs(run, JobState::Running));
    REQUIRE(eventually([&] { return listed(run)->progress.step > 1; }));
    const JobStatus job = *listed(run);
    CHECK(job.title == "Train run");
    CHECK(job.progress.steps == kEndless);
    CHECK(job.canPause);
    JobList::shared().request(job.number, JobRequest::Pause);
    REQUIRE(isListedAs(run, JobState::Paused));
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->state == TrainingSnapshot::State::Paused);
    CHECK(jobAt(run)->record.status.state == JobState::Paused); // also for other programs
    const int64_t step = session.latest()->step;
    JobList::shared().request(job.number, JobRequest::Continue);
    REQUIRE(eventually([&] { return session.latest()->step > step; }));
    CHECK(listed(run)->state == JobState::Running);
    JobList::shared().request(job.number, JobRequest::Stop);
    REQUIRE(eventually([&] { return !listed(run); }));
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->state == TrainingSnapshot::State::None);
    CHECK(jobAt(run)->record.status.state == JobState::Stopped);
    CHECK(jobAt(run)->canContinue());
}

TEST_CASE("session jobs: another program pauses, continues and stops the run of a session", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run";
    TrainingSession session(test::kTestDevice);
    session.start(run, jobRecipe(kEndless), true);
    REQUIRE(eventually([&] { return session.latest()->step > 1; }));
    requestOf(run, JobRequest::Pause);
    REQUIRE(isListedAs(run, JobState::Paused));
    const int64_t step = session.latest()->step;
    requestOf(run, JobRequest::Continue); // which a session that rests sees too
    REQUIRE(eventually([&] { return session.latest()->step > step; }));
    requestOf(run, JobRequest::Stop);
    REQUIRE(eventually([&] { return !listed(run); }));
    CHECK(jobAt(run)->record.status.state == JobState::Stopped);
    CHECK_FALSE(jobAt(run)->process);
}

TEST_CASE("session jobs: a run that was paused and stopped ends with the bits of one that was left alone",
          "[session][gpu]") {
    const TemporaryFolder folder;
    const auto alone = folder / "alone", stopped = folder / "stopped";
    TrainingSession session(test::kTestDevice);
    session.start(alone, jobRecipe(14), true);
    REQUIRE(session.waitIdle());
    session.start(stopped, jobRecipe(14), false);
    for (int i = 0; i < 3; ++i) session.step();
    REQUIRE(session.waitIdle());
    JobList::shared().request(listed(stopped)->number, JobRequest::Stop);
    REQUIRE(eventually([&] { return !listed(stopped); }));
    CHECK(jobAt(stopped)->record.status.progress.step == 3);
    session.start(stopped, jobRecipe(14), true);
    REQUIRE(session.waitIdle());
    CHECK(listed(stopped)->state == JobState::Finished); // the run is still open
    CHECK(jobAt(stopped)->record.status.state == JobState::Finished);
    REQUIRE_FALSE(fileBytes(alone / "model.safetensors").empty());
    CHECK(fileBytes(alone / "model.safetensors") == fileBytes(stopped / "model.safetensors"));
}

TEST_CASE("session jobs: a run that was killed after its last step gets its model when it is opened",
          "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run";
    TrainingSession session(test::kTestDevice);
    session.start(run, jobRecipe(4), true);
    REQUIRE(session.waitIdle());
    const std::string weights = fileBytes(run / "model.safetensors");
    REQUIRE_FALSE(weights.empty());
    session.close();
    REQUIRE(session.waitIdle());
    CHECK(jobAt(run)->record.status.state == JobState::Finished);
    session.start(run, jobRecipe(4), false); // looking at it changes nothing
    REQUIRE(session.waitIdle());
    session.close();
    REQUIRE(session.waitIdle());
    CHECK(jobAt(run)->record.status.state == JobState::Finished);
    std::filesystem::remove(run / "model.safetensors");
    JobRecord record = readJob(run).value();
    record.status.state = JobState::Running;
    writeJob(run, record);
    CHECK(jobAt(run)->record.status.state == JobState::Interrupted);
    session.start(run, jobRecipe(4), true);
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->state == TrainingSnapshot::State::Finished);
    CHECK(jobAt(run)->record.status.state == JobState::Finished);
    CHECK(fileBytes(run / "model.safetensors") == weights);
}

TEST_CASE("session jobs: an analysis and a measurement are listed while they last", "[session][gpu]") {
    std::mutex mutex; // before the sessions, whose threads use both
    std::set<std::string> titles;
    const std::shared_ptr<void> quiet(nullptr, [](void*) { JobList::shared().setListener({}); });
    Session session(test::kTestDevice);
    JobList::shared().setListener([&] {
        const std::lock_guard lock(mutex);
        const auto jobs = JobList::shared().latest(); // which another thread replaces
        for (const JobStatus& job : jobs->jobs) titles.insert(job.title);
    });
    session.post(OpenModelCommand{.path = "builtin:induction", .given = {.text = {.text = "abcabc"}}});
    session.post(RunAnalysisCommand{std::make_shared<HeadDetectionAnalysis>()});
    REQUIRE(session.waitIdle());
    CostSession costs(test::kTestDevice);
    costs.ask(
        {.specs = {AttentionSpec::parse("heads=multi_head(2)")}, .from = 64, .to = 128, .width = 8, .measures = true});
    REQUIRE(costs.waitIdle());
    JobList::shared().setListener({});
    CHECK(titles.contains("Open a model"));
    CHECK(titles.contains("Analyse: head kinds"));
    CHECK(titles.contains("Measure the time and memory of attentions"));
    CHECK(JobList::shared().latest()->jobs.empty());
}

TEST_CASE("session jobs: a run that fails says why, here and to other programs", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder / "run";
    TrainingSession session(test::kTestDevice);
    session.start(run, jobRecipe(kEndless), false);
    session.setLearningRate(1e30); // after which no loss is a number
    session.play();
    REQUIRE(isListedAs(run, JobState::Failed));
    REQUIRE(session.waitIdle());
    CHECK(listed(run)->failure->what.find("is not a number") != std::string::npos);
    session.requestWeights(); // which publishes again
    REQUIRE(session.waitIdle());
    CHECK(listed(run)->state == JobState::Failed);
    const FolderJob job = jobAt(run).value();
    CHECK(job.record.status.state == JobState::Failed);
    CHECK(job.record.status.failure == listed(run)->failure);
}

TEST_CASE("session jobs: a run that cannot begin leaves the list", "[session][gpu]") {
    const TemporaryFolder folder;
    Recipe recipe = jobRecipe(4);
    recipe.architecture.width = 15;
    TrainingSession session(test::kTestDevice);
    session.start(folder / "bad", recipe, true);
    REQUIRE(session.waitIdle());
    REQUIRE(session.latest()->failure);
    CHECK_FALSE(listed(folder / "bad"));
}
