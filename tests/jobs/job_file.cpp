#include "engine/jobs/job_file.h"
#include "tests/io/files.h"
#include "tests/support/catch.h"

#include <atomic>
#include <fstream>
#include <thread>

using namespace attn;
using attn::test::TemporaryFolder;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

} // namespace

TEST_CASE("job files: what is written is read again", "[jobs]") {
    const TemporaryFolder folder;
    CHECK_FALSE(readJob(folder.path()));
    JobRecord record{.status = {.kind = "training", .title = "Train sort", .folder = folder.path(), .canPause = true},
                     .began = 5,
                     .written = 7};
    for (const JobState state : {JobState::Waiting, JobState::Running, JobState::Paused, JobState::Finished,
                                 JobState::Stopped, JobState::Interrupted, JobState::Failed}) {
        record.status.state = state;
        writeJob(folder.path(), record);
        CHECK(readJob(folder.path()) == record);
    }
    record.status.progress = ofSteps(3, 12);
    record.status.progress.sentence = "a step";
    record.status.progress.secondsLeft = 4.5;
    record.status.failure = Failure{.what = "the disk is full", .where = "x", .hint = "free it"};
    writeJob(folder.path(), record);
    CHECK(readJob(folder.path()) == record);
}

TEST_CASE("job files: one that is damaged is named", "[jobs]") {
    const TemporaryFolder folder;
    for (const char* text : {"", "{", "[]", "{\"kind\": 3}", "{\"kind\": \"training\", \"title\": \"x\"}",
                             "{\"kind\": \"training\", \"title\": \"x\", \"state\": \"asleep\"}",
                             "{\"kind\": \"training\", \"title\": \"x\", \"state\": \"paused\", \"step\": 1e300}"}) {
        INFO(text);
        write(folder / "job.json", text);
        CHECK_THAT(test::sentenceOf([&] { readJob(folder.path()); }), CONTAINS("job.json"));
    }
    CHECK_THAT(test::sentenceOf([&] { readJob(folder.path()); }),
               CONTAINS("job.json: is damaged: a field is missing, or of another kind; remove it"));
}

TEST_CASE("job files: a request is taken once, and only words that are known count", "[jobs]") {
    const TemporaryFolder folder;
    CHECK_FALSE(takeRequest(folder.path()));
    for (const JobRequest request : {JobRequest::Pause, JobRequest::Continue, JobRequest::Stop}) {
        requestOf(folder.path(), request);
        CHECK(takeRequest(folder.path()) == request);
        CHECK_FALSE(takeRequest(folder.path()));
    }
    write(folder / "job.request", "explode, and more than any word is long, which a reader must not trust");
    CHECK_FALSE(takeRequest(folder.path()));
    CHECK_FALSE(std::filesystem::exists(folder / "job.request"));
    std::filesystem::create_directory(folder / "job.request");
    CHECK_FALSE(takeRequest(folder.path()));
}

TEST_CASE("job files: of requests that follow at once, the last is never lost", "[jobs]") {
    const TemporaryFolder folder;
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> isDone = false;
        std::thread asking([&] {
            for (int i = 0; i < 50; ++i)
                requestOf(folder.path(), i % 2 == 0 ? JobRequest::Pause : JobRequest::Continue);
            requestOf(folder.path(), JobRequest::Stop);
            isDone = true;
        });
        std::optional<JobRequest> last;
        for (bool wasDone = false; !wasDone;) {
            wasDone = isDone;
            if (const auto request = takeRequest(folder.path())) last = request;
        }
        asking.join();
        REQUIRE(last == JobRequest::Stop);
    }
}

TEST_CASE("job files: a journal takes away requests of before, and keeps the state, whatever the disk does", "[jobs]") {
    const TemporaryFolder folder;
    requestOf(folder.path(), JobRequest::Stop);
    JobJournal journal(folder.path(), "training", "Train sort");
    CHECK_FALSE(takeRequest(folder.path()));
    CHECK(readJob(folder.path())->status.state == JobState::Running);
    journal.report(ofSteps(1, 12)); // the first is written at once, others from time to time
    CHECK(readJob(folder.path())->status.progress == ofSteps(1, 12));
    journal.report(ofSteps(3, 12));
    journal.setState(JobState::Paused); // which is written at once, with the progress
    const JobRecord paused = readJob(folder.path()).value();
    CHECK(paused.status.state == JobState::Paused);
    CHECK(paused.status.progress.step == 3);
    CHECK(paused.began > 0);
    CHECK(paused.written >= paused.began);
    journal.fail({.what = "no", .where = {}, .hint = {}});
    CHECK(readJob(folder.path())->status.failure->what == "no");
    journal.setState(JobState::Running); // it continues after the failure
    CHECK_FALSE(readJob(folder.path())->status.failure);
    std::filesystem::remove_all(folder.path());
    CHECK_NOTHROW(journal.setState(JobState::Finished));
    CHECK(journal.state() == JobState::Finished);
}
