#pragma once

#include "app/lab/bridge/handover.h"

#include <functional>
#include <mutex>
#include <utility>

namespace attn {

/// Carries callbacks from a session's thread to the window's thread. `deliver` runs there once for all requests before
/// it.
class Delivery {
public:
    /// Deliveries run on the thread that calls this.
    explicit Delivery(std::function<void()> deliver) : deliver_(std::move(deliver)) {}
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    /// Asks for a delivery. May be called from any thread.
    /// @param note what to do before, unless the deliveries have been stopped
    void request(const std::function<void()>& note = {}) {
        const std::lock_guard lock(mutex_);
        if (isClosed_) return;
        if (note) note();
        if (std::exchange(isQueued_, true)) return;
        handover_.post([this] {
            {
                const std::lock_guard inner(mutex_);
                isQueued_ = false;
                if (isClosed_) return;
            }
            deliver_();
        });
    }
    /// Stops all deliveries, and waits for a note that is being made. Call this before what they use is destroyed.
    void close() {
        const std::lock_guard lock(mutex_);
        isClosed_ = true;
    }

private:
    Handover handover_;
    std::function<void()> deliver_;
    std::mutex mutex_;
    bool isQueued_ = false, isClosed_ = false;
};

} // namespace attn
