#include "engine/jobs/job_queue.h"

#include "engine/core/attempt.h"
#include "engine/jobs/thread_priority.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace attn {

void JobControl::stop() {
    const std::lock_guard lock(mutex_);
    isStopped_ = true;
    changed_.notify_all();
}

void JobControl::pause() {
    const std::lock_guard lock(mutex_);
    isPaused_ = true;
}

void JobControl::resume() {
    const std::lock_guard lock(mutex_);
    isPaused_ = false;
    changed_.notify_all();
}

void JobControl::act(JobRequest request) {
    switch (request) {
    case JobRequest::Pause:
        return pause();
    case JobRequest::Continue:
        return resume();
    case JobRequest::Stop:
        return stop();
    }
}

void JobControl::setState(JobState state) {
    if (listed_) listed_->setState(state);
}

bool JobControl::mayContinue() {
    std::unique_lock lock(mutex_);
    if (isPaused_ && !isStopped_) {
        const Clock::time_point start = Clock::now();
        lock.unlock(); // who makes a request holds the list
        setState(JobState::Paused);
        lock.lock();
        changed_.wait(lock, [this] { return !isPaused_ || isStopped_; });
        paused_ += Clock::now() - start;
        lock.unlock();
        setState(JobState::Running);
    }
    return !isStopped_;
}

double JobControl::activeSeconds() { return std::chrono::duration<double>(Clock::now() - began_ - paused_).count(); }

void JobControl::report(Progress progress) {
    if (!listed_) return;
    if (progress.fraction >= 0 && !progress.secondsLeft)
        progress.secondsLeft = remaining_.after(progress.fraction, activeSeconds());
    listed_->report(progress);
}

JobQueue::JobQueue(int threads, JobList& list) : list_(list) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

JobQueue::~JobQueue() {
    for (std::jthread& thread : threads_) thread.request_stop();
    end({});
    threads_.clear();
}

void JobQueue::end(const std::optional<std::string>& key) {
    std::vector<Entry> rest; // they go unlocked, as they are in the list
    {
        const std::lock_guard lock(mutex_);
        const auto stays = [&](const Entry& entry) { return key && entry.job.key != *key; };
        const auto kept = std::stable_partition(waiting_.begin(), waiting_.end(), stays);
        rest.assign(std::make_move_iterator(kept), std::make_move_iterator(waiting_.end()));
        waiting_.erase(kept, waiting_.end());
        for (const Running& each : running_)
            if (!key || each.key == *key) each.control->stop();
    }
    for (const Entry& entry : rest) {
        entry.control->stop();
        entry.control->listed_.reset();
    }
    changed_.notify_all();
}

std::shared_ptr<JobControl> JobQueue::add(Job job) {
    auto control = std::make_shared<JobControl>();
    if (!job.title.empty())
        control->listed_ = std::make_unique<ListedJob>(
            list_, JobStatus{.kind = job.kind, .title = job.title, .folder = job.folder, .canPause = job.canPause},
            [control = control.get()](JobRequest request) { control->act(request); });
    if (!job.key.empty()) end(job.key);
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({std::move(job), control});
    }
    changed_.notify_all();
    return control;
}

void JobQueue::stop(const std::string& key) { end(key); }

bool JobQueue::waitIdle(double timeoutSeconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(timeoutSeconds),
                             [this] { return waiting_.empty() && running_.empty(); });
}

void JobQueue::work(const std::stop_token& stop) {
    lowerThreadPriority();
    for (;;) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        Entry entry = std::move(waiting_.front());
        waiting_.pop_front();
        running_.push_back({entry.job.key, entry.control});
        lock.unlock();
        JobControl& control = *entry.control;
        control.began_ = JobControl::Clock::now();
        control.setState(JobState::Running);
        (void)control.mayContinue(); // it may have been paused while it waited; if it was stopped, its owner learns it
        (void)attempt(entry.job.title, [&] { entry.job.run(control); });
        control.listed_.reset();
        entry.job = {}; // frees what it holds on this thread, before it counts as done
        lock.lock();
        std::erase_if(running_, [&](const Running& each) { return each.control == entry.control; });
        lock.unlock();
        changed_.notify_all();
    }
}

} // namespace attn
