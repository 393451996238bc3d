#pragma once

#include <QObject>

#include <functional>
#include <mutex>
#include <utility>

namespace attn {

/// Brings the callbacks of a session's thread to an object's: `deliver` runs there once for any number of requests that
/// came before it.
class Delivery {
public:
    /// @param target must outlive this
    Delivery(QObject& target, std::function<void()> deliver) : target_(target), deliver_(std::move(deliver)) {}
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    /// From any thread.
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
    /// Before the target goes: nothing is delivered any more.
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
