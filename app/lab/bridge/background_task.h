#pragma once

#include "app/lab/bridge/handover.h"
#include "engine/core/attempt.h"

#include <QThreadPool>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace attn {

/// Work on files that may take long, done on another thread while the window stays alive. Newer work replaces older:
/// the result of the older never arrives. Use it on the window's thread only.
class BackgroundTask {
public:
    BackgroundTask() = default;
    ~BackgroundTask() { cancel(); }
    BackgroundTask(const BackgroundTask&) = delete;
    BackgroundTask& operator=(const BackgroundTask&) = delete;

    /// @param where place for failures that do not name one
    /// @param work  runs on another thread; long work ends early when `isStopped` becomes true. An exception becomes a
    ///              Failure
    /// @param done  called on the window's thread, unless the task was cancelled or replaced
    template <class Result>
    void start(const std::string& where,
               std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
               std::function<void(std::variant<Result, Failure> result)> done) {
        cancel();
        isStopped_ = std::make_shared<std::atomic<bool>>(false);
        runOn(threads(), [this, where, window = &Handover::toWindow(), work = std::move(work), done = std::move(done),
                          isStopped = isStopped_] {
            auto result = std::make_shared<std::variant<Result, Failure>>();
            if (auto failure = attempt(where, [&] { *result = work(*isStopped); })) *result = std::move(*failure);
            if (*isStopped) return; // the application may be gone
            window->post([this, result, done, isStopped] {
                if (*isStopped) return; // this may be gone
                isStopped_.reset();
                done(std::move(*result));
            });
        });
    }
    /// Drops the result, and asks the work to end.
    void cancel() {
        if (isStopped_) *isStopped_ = true;
        isStopped_.reset();
    }
    bool isRunning() const { return isStopped_ != nullptr; }

    /// The threads that do the work. They are not those of Qt, for which drawing waits.
    static QThreadPool& threads();

private:
    std::shared_ptr<std::atomic<bool>> isStopped_; ///< of the work that is running; null: none
};

} // namespace attn
