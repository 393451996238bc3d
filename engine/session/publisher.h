#pragma once

#include "engine/core/error.h"
#include "engine/core/failure.h"

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace attn {

/// Publishes the newest snapshot of a session's thread to all threads. Snapshots are immutable, and each has the next
/// `version`.
template <class Snapshot> class Publisher {
public:
    /// The newest snapshot; never null.
    std::shared_ptr<const Snapshot> latest() const {
        const std::lock_guard lock(mutex_);
        return latest_;
    }
    /// Sets the function that the publishing thread calls after each new snapshot.
    void setListener(std::function<void()> listener) {
        const std::lock_guard lock(mutex_);
        listener_ = std::move(listener);
    }
    /// Publishes a snapshot.
    void publish(Snapshot next) {
        std::function<void()> listener;
        {
            const std::lock_guard lock(mutex_);
            next.version = latest_->version + 1;
            latest_ = std::make_shared<const Snapshot>(std::move(next));
            listener = listener_;
        }
        if (listener) listener();
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Snapshot> latest_ = std::make_shared<Snapshot>();
    std::function<void()> listener_;
};

/// Runs `work`. @param where place for failures that do not name one  @return the failure; none: success
inline std::optional<Failure> attempt(const std::string& where, const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return Failure{error.message(), error.where(), error.hint()};
    } catch (const std::bad_alloc&) {
        return Failure{"the computer is out of memory", where, "choose fewer tokens or heads"};
    } catch (const std::exception& error) {
        return Failure{error.what(), where, "please report this"};
    }
    return {};
}

} // namespace attn
