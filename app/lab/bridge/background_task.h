#pragma once

#include "app/lab/bridge/handover.h"
#include "engine/core/attempt.h"
#include "engine/jobs/job_queue.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace attn {

/// Long work on files, done on another thread while the window reacts. New work replaces old work, whose result is
/// dropped. Use it on the window's thread only.
class BackgroundTask {
public:
    BackgroundTask() = default;
    ~BackgroundTask() { cancel(); }
    BackgroundTask(const BackgroundTask&) = delete;
    BackgroundTask& operator=(const BackgroundTask&) = delete;

    /// @param where default place for failures
    /// @param work  runs on another thread; it should end early when `isStopped` becomes true. An exception becomes a
    /// Failure
    /// @param done  called on the window's thread, unless the task was cancelled or replaced
    /// @param title in the list of jobs; empty: it is not listed
    template <class Result>
    void start(const std::string& where,
               std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
               std::function<void(std::variant<Result, Failure> result)> done, std::string title = {}) {
        cancel();
        isCancelled_ = std::make_shared<std::atomic<bool>>(false);
        job_ = queue().add({.kind = "files",
                            .key = {},
                            .title = std::move(title),
                            .run = [this, where, window = &Handover::toWindow(), work = std::move(work),
                                    done = std::move(done), isCancelled = isCancelled_](JobControl& control) {
                                if (*isCancelled) return; // nobody waits for it
                                auto result = std::make_shared<std::variant<Result, Failure>>();
                                if (auto failure = attempt(where, [&] { *result = work(control.isStopped()); }))
                                    *result = std::move(*failure);
                                if (*isCancelled) return; // the application may be gone
                                if (control.isStopped())
                                    *result =
                                        Failure{.what = "was stopped before it was done", .where = where, .hint = {}};
                                window->post([this, result, done, isCancelled] {
                                    if (*isCancelled) return; // this may be gone
                                    forget();
                                    done(std::move(*result));
                                });
                            }});
    }
    /// Drops the result, and asks the work to end.
    void cancel() {
        if (isCancelled_) *isCancelled_ = true;
        if (job_) job_->stop();
        forget();
    }
    bool isRunning() const { return isCancelled_ != nullptr; }

    /// The threads that do the work. They are not those of Qt, for which drawing waits.
    static JobQueue& queue();

private:
    void forget() {
        isCancelled_.reset();
        job_.reset();
    }

    std::shared_ptr<std::atomic<bool>> isCancelled_; ///< of the work that is running; null: none
    std::shared_ptr<JobControl> job_;                ///< the same
};

} // namespace attn
