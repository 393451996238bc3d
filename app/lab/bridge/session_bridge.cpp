#include "app/lab/bridge/session_bridge.h"

namespace attn {

SessionBridge::SessionBridge(Session::Options options, QObject* parent)
    : QObject(parent), session_(std::make_unique<Session>(std::move(options))) {
    session_->setListener([this] {
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

void SessionBridge::deliver() {
    isDeliveryQueued_ = false;
    emit snapshotChanged(session_->latest());
}

} // namespace attn
