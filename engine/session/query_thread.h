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

/// A low-priority thread that answers queries. A new query replaces a waiting one of the same type, so a slider does
/// not fill a queue. Types that come first in the list are answered first. The destructor waits for the running answer;
/// declare it as the last member, after the data that answers use.
template <class... Queries> class QueryThread {
public:
    /// @param answer called on the thread with each query; must not throw
    explicit QueryThread(std::function<void(std::variant<Queries...>)> answer)
        : answer_(std::move(answer)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

    /// Adds a query, or replaces the waiting one of this type.
    template <class Query> void ask(Query query) {
        {
            const std::lock_guard lock(mutex_);
            std::get<std::optional<Query>>(wanted_) = std::move(query);
            isIdle_ = false;
        }
        changed_.notify_all();
    }
    /// Blocks until no query is left. @return false on time-out
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
    std::jthread thread_; // last: joins before other members are destroyed
};

} // namespace attn
