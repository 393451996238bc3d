#pragma once

#include <QObject>

#include <functional>
#include <mutex>
#include <utility>

namespace attn {

/// Carries callbacks from a session's thread to an object's thread. `deliver` runs there once for all requests that
/// came before it.
class Delivery {
public:
    /// @param target must outlive this
    Delivery(QObject& target, std::function<void()> deliver) : target_(target), deliver_(std::move(deliver)) {}
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    /// Asks for a delivery. May be called from any thread.
    void request() {
        const std::lock_guard lock(mutex_);
        if (isClosed_ || std::exchange(isQueued_, true)) return;
        QMetaObject::invokeMethod(
            &target_,
            [this] {
                {
                    const std::lock_guard inner(mutex_);
                    isQueued_ = false;
                    if (isClosed_) return;
                }
                deliver_();
            },
            Qt::QueuedConnection);
    }
    /// Stops all deliveries. Call this before the target is destroyed.
    void close() {
        const std::lock_guard lock(mutex_);
        isClosed_ = true;
    }

private:
    QObject& target_;
    std::function<void()> deliver_;
    std::mutex mutex_;
    bool isQueued_ = false, isClosed_ = false;
};

} // namespace attn
