#include "app/lab/bridge/session_bridge.h"

namespace attn {

SessionBridge::SessionBridge(Session::Options options, QObject* parent)
    : QObject(parent), session_(std::make_unique<Session>(std::move(options))) {
    session_->setListener([this] {
        noteFailure();
        if (!isDeliveryQueued_.exchange(true)) QMetaObject::invokeMethod(this, &SessionBridge::deliver, Qt::QueuedConnection);
    });
    // A snapshot from before the listener was set must not be missed.
    isDeliveryQueued_ = true;
    QMetaObject::invokeMethod(this, &SessionBridge::deliver, Qt::QueuedConnection);
}

SessionBridge::~SessionBridge() {
    session_.reset(); // joins the worker, so that the listener cannot run on a half-destroyed object
}

void SessionBridge::post(Command command) {
    emit posted(command);
    session_->post(std::move(command));
}

void SessionBridge::noteFailure() {
    const auto snapshot = session_->latest();
    if (!snapshot->failure || snapshot->failureCount == failureCount_) return;
    failureCount_ = snapshot->failureCount;
    const std::lock_guard lock(failuresMutex_);
    failures_.push_back(*snapshot->failure);
}

void SessionBridge::deliver() {
    isDeliveryQueued_ = false;
    emit snapshotChanged(session_->latest());
    std::vector<Failure> failures;
    {
        const std::lock_guard lock(failuresMutex_);
        failures.swap(failures_);
    }
    for (const Failure& failure : failures) emit failed(failure);
}

} // namespace attn
