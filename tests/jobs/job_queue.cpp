#include "engine/jobs/job_queue.h"
#include "tests/support/catch.h"

#include <latch>
#include <vector>

using namespace attn;

namespace {

/// Blocks until the newest snapshot is as wanted. Its changes wake nobody here, so it looks again and again.
bool shows(const JobList& list, const std::function<bool(const std::vector<JobStatus>&)>& isWanted) {
    for (int i = 0; i < 60'000; ++i) {
        if (isWanted(list.latest()->jobs)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

bool isInState(const std::vector<JobStatus>& jobs, JobState state) {
    return jobs.size() == 1 && jobs.front().state == state;
}

} // namespace

TEST_CASE("jobs: they run one at a time, in their order, and the newest of a key takes the place of a waiting one",
          "[jobs]") {
    JobList list;
    std::vector<int> done;
    std::latch begun(1), go(1);
    JobQueue queue(1, list);
    queue.add({.kind = "a", .key = {}, .title = {}, .run = [&](JobControl&) {
                   begun.count_down();
                   go.wait();
                   done.push_back(0);
               }});
    begun.wait();
    const auto add = [&](const char* key, int number) {
        queue.add(
            {.kind = "a", .key = key, .title = "Count", .run = [&, number](JobControl&) { done.push_back(number); }});
    };
    add("x", 1);
    add("y", 2);
    add("x", 3);
    CHECK(list.latest()->jobs.size() == 2); // those that wait and have a title
    CHECK(list.latest()->jobs.front().state == JobState::Waiting);
    go.count_down();
    REQUIRE(queue.waitIdle());
    CHECK(done == std::vector{0, 2, 3});
    CHECK(list.latest()->jobs.empty());
}

TEST_CASE("jobs: a newer job of the same key asks the one that runs to stop", "[jobs]") {
    JobList list;
    std::latch begun(1);
    bool wasStopped = false, hasRun = false;
    JobQueue queue(1, list);
    queue.add({.kind = "a", .key = "x", .title = "Wait", .run = [&](JobControl& control) {
                   begun.count_down();
                   while (control.mayContinue()) std::this_thread::yield();
                   wasStopped = control.isStopped();
               }});
    begun.wait();
    queue.add(
        {.kind = "a", .key = "x", .title = "Do", .run = [&](JobControl& control) { hasRun = control.mayContinue(); }});
    REQUIRE(queue.waitIdle());
    CHECK(wasStopped);
    CHECK(hasRun);
}

TEST_CASE("jobs: the list shows progress, pauses, continues and stops", "[jobs]") {
    JobList list;
    JobQueue queue(1, list);
    std::atomic<int> pieces = 0;
    queue.add({.kind = "a",
               .key = {},
               .title = "Count",
               .folder = "/somewhere",
               .canPause = true,
               .run = [&](JobControl& control) {
                   while (control.mayContinue())
                       control.report({.fraction = 0.25, .sentence = std::to_string(++pieces)});
               }});
    REQUIRE(shows(list, [](const auto& jobs) {
        return isInState(jobs, JobState::Running) && jobs.front().progress.fraction == 0.25;
    }));
    const JobStatus job = list.latest()->jobs.front();
    CHECK(job.title == "Count");
    CHECK(job.folder == "/somewhere");
    list.request(job.number, JobRequest::Pause);
    REQUIRE(shows(list, [](const auto& jobs) { return isInState(jobs, JobState::Paused); }));
    const int before = pieces;
    list.request(job.number + 1, JobRequest::Stop); // there is no such job
    CHECK(pieces == before);                        // it is asleep
    list.request(job.number, JobRequest::Continue);
    REQUIRE(shows(list, [&](const auto& jobs) { return isInState(jobs, JobState::Running) && pieces > before; }));
    list.request(job.number, JobRequest::Pause);
    REQUIRE(shows(list, [](const auto& jobs) { return isInState(jobs, JobState::Paused); }));
    list.request(job.number, JobRequest::Stop); // also while it is paused
    REQUIRE(queue.waitIdle());
    CHECK(list.latest()->jobs.empty());
}

TEST_CASE("jobs: work that was stopped while it waited learns it", "[jobs]") {
    JobList list;
    JobQueue queue(1, list);
    std::latch begun(1), go(1);
    queue.add({.kind = "a", .key = {}, .title = {}, .run = [&](JobControl&) {
                   begun.count_down();
                   go.wait();
               }});
    begun.wait();
    bool wasStopped = false;
    const auto waiting = queue.add({.kind = "a", .key = {}, .title = "Wait", .run = [&](JobControl& control) {
                                        wasStopped = control.isStopped();
                                    }});
    list.request(list.latest()->jobs.front().number, JobRequest::Stop);
    go.count_down();
    REQUIRE(queue.waitIdle());
    CHECK(wasStopped);
    CHECK(waiting->isStopped());
}

TEST_CASE("jobs: work that throws ends its job alone", "[jobs]") {
    JobList list;
    JobQueue queue(1, list);
    bool hasRun = false;
    queue.add({.kind = "a", .key = {}, .title = "Fail", .run = [](JobControl&) { throw std::runtime_error("no"); }});
    queue.add({.kind = "a", .key = {}, .title = "Do", .run = [&](JobControl&) { hasRun = true; }});
    REQUIRE(queue.waitIdle());
    CHECK(hasRun);
}

TEST_CASE("jobs: a queue that ends drops what waits, stops what runs, and leaves the list", "[jobs]") {
    JobList list;
    bool hasRun = false;
    std::shared_ptr<JobControl> waiting;
    {
        std::latch begun(1);
        JobQueue queue(1, list);
        queue.add({.kind = "a", .key = {}, .title = "Wait", .canPause = true, .run = [&](JobControl& control) {
                       begun.count_down();
                       while (control.mayContinue()) std::this_thread::yield();
                   }});
        begun.wait();
        waiting = queue.add({.kind = "a", .key = {}, .title = "Never", .run = [&](JobControl&) { hasRun = true; }});
        list.request(list.latest()->jobs.front().number, JobRequest::Pause);
    }
    CHECK_FALSE(hasRun);
    CHECK(waiting->isStopped());
    CHECK(list.latest()->jobs.empty());
}

TEST_CASE("jobs: several threads do several jobs at once", "[jobs]") {
    JobList list;
    JobQueue queue(3, list);
    std::latch together(3);
    for (int i = 0; i < 3; ++i)
        queue.add({.kind = "a", .key = {}, .title = {}, .run = [&](JobControl&) { together.arrive_and_wait(); }});
    CHECK(queue.waitIdle());
    CHECK(queue.threadCount() == 3);
}
