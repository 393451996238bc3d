#pragma once

#include "engine/jobs/job.h"
#include "engine/jobs/publisher.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attn {

/// The jobs that have not ended, in the order in which they were listed.
struct JobSnapshot {
    uint64_t version = 0; ///< increases by one with each snapshot
    std::vector<JobStatus> jobs;
    const JobStatus* find(uint64_t number) const; ///< null: it has ended
};

/// Lists jobs, whichever threads do their work. All functions may be called from any thread.
class JobList {
public:
    /// The list of this process, which the window shows.
    static JobList& shared();

    /// The newest snapshot; never null.
    std::shared_ptr<const JobSnapshot> latest() const { return snapshots_.latest(); }
    /// Sets the function that is called after each new snapshot. It must only forward the news, and return.
    void setListener(std::function<void()> listener) { snapshots_.setListener(std::move(listener)); }
    /// Asks for something of a job. Nothing happens if it has ended.
    void request(uint64_t number, JobRequest request);

private:
    friend class ListedJob;
    struct Entry {
        JobStatus status;
        std::function<void(JobRequest)> act;
    };
    uint64_t add(JobStatus status, std::function<void(JobRequest)> act);
    void change(uint64_t number, const std::function<void(JobStatus&)>& change);
    void remove(uint64_t number);
    void publish(); ///< @pre the mutex is locked

    std::mutex mutex_;
    std::vector<std::shared_ptr<Entry>> entries_;
    uint64_t lastNumber_ = 0;
    Publisher<JobSnapshot> snapshots_;
};

/// A job in a list, from its beginning to its end. It belongs to whoever does the work.
class ListedJob {
public:
    /// @param act what a request does; called on the thread that makes it, and never after this is destroyed
    ListedJob(JobList& list, JobStatus status, std::function<void(JobRequest)> act);
    ~ListedJob();
    ListedJob(const ListedJob&) = delete;
    ListedJob& operator=(const ListedJob&) = delete;

    void setState(JobState state);
    void report(const Progress& progress);
    void fail(Failure failure);

private:
    JobList& list_;
    uint64_t number_;
};

} // namespace attn
