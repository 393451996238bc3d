#pragma once

#include <functional>
#include <memory>
#include <mutex>
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

} // namespace attn
