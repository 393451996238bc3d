#include "app/lab/bridge/session_bridge.h"

#include <utility>

namespace attn {

SessionBridge::SessionBridge(DeviceChoice choice, QObject* parent)
    : QObject(parent), session_(std::make_unique<Session>(std::move(choice))) {
    session_->setListener([this] { receive(); });
    // A snapshot may have come before the listener was set.
    handover_.post([this] { deliver(); });
}

SessionBridge::~SessionBridge() {
    // The worker may be in receive() now. From here on receive() returns at once, even while the session shuts down.
    const std::lock_guard lock(mutex_);
    isClosing_ = true;
}

bool SessionBridge::isOpeningModel() const {
    const auto snapshot = latest();
    return snapshot->openings < openings_ || snapshot->status.activity == Activity::Loading;
}

void SessionBridge::post(Command command) {
    if (std::holds_alternative<OpenModelCommand>(command)) ++openings_;
    emit posted(command);
    session_->post(std::move(command));
}

void SessionBridge::receive() {
    const std::lock_guard lock(mutex_);
    if (isClosing_) return;
    const auto snapshot = session_->latest();
    if (snapshot->failure && snapshot->failureCount != failureCount_) {
        failureCount_ = snapshot->failureCount;
        failures_.push_back(*snapshot->failure);
    }
    if (!std::exchange(isDeliveryQueued_, true)) handover_.post([this] { deliver(); });
}

void SessionBridge::deliver() {
    std::vector<Failure> failures;
    {
        const std::lock_guard lock(mutex_);
        isDeliveryQueued_ = false;
        failures.swap(failures_);
    }
    emit snapshotChanged(session_->latest());
    for (const Failure& failure : failures) emit failed(failure);
}

} // namespace attn
