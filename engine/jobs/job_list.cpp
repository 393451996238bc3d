#include "engine/jobs/job_list.h"

#include <algorithm>
#include <utility>

namespace attn {

const JobStatus* JobSnapshot::find(uint64_t number) const {
    const auto found = std::ranges::find(jobs, number, &JobStatus::number);
    return found == jobs.end() ? nullptr : &*found;
}

JobList& JobList::shared() {
    static auto* const list = new JobList; // threads that outlive main() may still report to it
    return *list;
}

uint64_t JobList::add(JobStatus status, std::function<void(JobRequest)> act) {
    const std::lock_guard lock(mutex_);
    status.number = ++lastNumber_;
    entries_.push_back(std::make_shared<Entry>(Entry{std::move(status), std::move(act)}));
    publish();
    return lastNumber_;
}

void JobList::change(uint64_t number, const std::function<void(JobStatus&)>& change) {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
        if (entry->status.number != number) continue;
        const JobStatus before = entry->status;
        change(entry->status);
        if (entry->status != before) publish();
    }
}

void JobList::remove(uint64_t number) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& entry) { return entry->status.number == number; });
    publish();
}

void JobList::request(uint64_t number, JobRequest request) {
    const std::lock_guard lock(mutex_); // the job cannot end meanwhile
    for (const auto& entry : entries_)
        if (entry->status.number == number && entry->act) entry->act(request);
}

void JobList::publish() {
    JobSnapshot next;
    for (const auto& entry : entries_) next.jobs.push_back(entry->status);
    snapshots_.publish(std::move(next));
}

ListedJob::ListedJob(JobList& list, JobStatus status, std::function<void(JobRequest)> act)
    : list_(list), number_(list.add(std::move(status), std::move(act))) {}

ListedJob::~ListedJob() { list_.remove(number_); }

void ListedJob::setState(JobState state) {
    list_.change(number_, [&](JobStatus& status) {
        status.state = state;
        if (state != JobState::Failed) status.failure.reset();
    });
}

void ListedJob::report(const Progress& progress) {
    list_.change(number_, [&](JobStatus& status) { status.progress = progress; });
}

void ListedJob::fail(Failure failure) {
    list_.change(number_, [&](JobStatus& status) {
        status.state = JobState::Failed;
        status.failure = std::move(failure);
    });
}

} // namespace attn
