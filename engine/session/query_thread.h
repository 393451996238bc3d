#pragma once

#include "engine/session/thread_priority.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

namespace attn {

/// A thread of low priority that answers queries, the newest of each kind alone: one that still waits is replaced by
/// the next, so that a slider never builds up a backlog. Kinds that are named first are answered first. It ends with
/// the answer that is underway; make it the last member of what it works with.
template <class... Queries> class QueryThread {
public:
    /// @param answer called on the thread with each query; must not throw
    explicit QueryThread(std::function<void(std::variant<Queries...>)> answer)
        : answer_(std::move(answer)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

    template <class Query> void ask(Query query) {
        {
            const std::lock_guard lock(mutex_);
            std::get<std::optional<Query>>(wanted_) = std::move(query);
            isIdle_ = false;
        }
        changed_.notify_all();
    }
    /// Blocks until nothing is left to answer. @return false on time-out
    bool waitIdle(double timeoutSeconds) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [this] { return isIdle_; });
    }

private:
    void run(const std::stop_token& stop) {
        lowerThreadPriority();
        for (;;) {
            std::optional<std::variant<Queries...>> query;
            {
                std::unique_lock lock(mutex_);
                const auto isAsked = [this] { return (std::get<std::optional<Queries>>(wanted_).has_value() || ...); };
                if (!isAsked()) {
                    isIdle_ = true;
                    changed_.notify_all();
                    changed_.wait(lock, stop, isAsked);
                }
                if (stop.stop_requested()) return;
                (take<Queries>(query) || ...);
            }
            answer_(std::move(*query));
        }
    }
    template <class Query> bool take(std::optional<std::variant<Queries...>>& query) {
        auto& wanted = std::get<std::optional<Query>>(wanted_);
        if (!wanted) return false;
        query = std::move(*std::exchange(wanted, std::nullopt));
        return true;
    }

    std::function<void(std::variant<Queries...>)> answer_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::tuple<std::optional<Queries>...> wanted_;
    bool isIdle_ = true;
    std::jthread thread_; // last: joins before anything else goes
};

} // namespace attn
