#pragma once

#include "engine/core/no_limit.h"
#include "engine/jobs/job_list.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace attn {

/// What the work of a job is told, and what it tells.
class JobControl {
public:
    /// Asks the work to end, for good.
    void stop();
    void pause();
    void resume();
    /// Whether somebody asked the work to end. It ends between pieces of about 10 ms.
    const std::atomic<bool>& isStopped() const { return isStopped_; }
    /// Waits while the job is paused. @return false if the work has to end
    bool mayContinue();
    /// Tells how far the work is, and estimates the time that it still takes if its fraction is known.
    void report(Progress progress);

private:
    friend class JobQueue;
    void act(JobRequest request);
    void setState(JobState state);
    double activeSeconds(); ///< since the work began, without its pauses

    using Clock = std::chrono::steady_clock;
    std::atomic<bool> isStopped_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool isPaused_ = false;
    Clock::time_point began_{};
    Clock::duration paused_{};
    RemainingTime remaining_;
    std::unique_ptr<ListedJob> listed_; ///< null: the job is not listed
};

/// Work that takes longer than a gesture, or answers one aside.
struct Job {
    std::string kind;  ///< as in JobStatus
    std::string key;   ///< a newer job replaces one with the same key; empty: none does
    std::string title; ///< empty: it is not listed, as it lasts a moment
    std::filesystem::path folder{};
    bool canPause = false; ///< its work calls mayContinue()
    std::function<void(JobControl& control)> run;
};

/// Runs jobs in the order in which they come, each on one of a few low-priority threads: one at a time, unless it is
/// made with more. A newer job takes the place of a waiting one with the same key and asks a running one to stop.
/// The destructor drops the jobs that wait and asks the running ones to stop; declare a queue as the last member, after
/// what its jobs use. All functions may be called from any thread.
class JobQueue {
public:
    explicit JobQueue(int threads = 1, JobList& list = JobList::shared());
    ~JobQueue();
    JobQueue(const JobQueue&) = delete;
    JobQueue& operator=(const JobQueue&) = delete;

    std::shared_ptr<JobControl> add(Job job);
    /// Stops the jobs with this key, waiting or running.
    void stop(const std::string& key);
    /// Blocks until no job is left. @return false on time-out
    bool waitIdle(double timeoutSeconds = kNoLimit);
    int threadCount() const { return static_cast<int>(threads_.size()); }

private:
    struct Entry {
        Job job;
        std::shared_ptr<JobControl> control;
    };
    struct Running {
        std::string key;
        std::shared_ptr<JobControl> control;
    };
    void work(const std::stop_token& stop);
    /// Drops the waiting jobs that are replaced or stopped, and asks the running ones to stop.
    /// @param key as in Job; none: all
    void end(const std::optional<std::string>& key);

    JobList& list_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Entry> waiting_;
    std::vector<Running> running_;
    std::vector<std::jthread> threads_; // last: joins before other members are destroyed
};

} // namespace attn
