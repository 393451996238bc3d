#include "app/lab/bridge/playground_bridge.h"

#include <utility>

namespace attn {

PlaygroundBridge::PlaygroundBridge(PlaygroundSession::Options options, QObject* parent)
    : QObject(parent), session_(std::make_unique<PlaygroundSession>(std::move(options))) {
    session_->setListener([this] { receive(); });
}

PlaygroundBridge::~PlaygroundBridge() {
    {
        const std::lock_guard lock(mutex_);
        isClosing_ = true;
    }
    session_.reset();
}

void PlaygroundBridge::receive() {
    const std::lock_guard lock(mutex_);
    if (isClosing_) return;
    if (!std::exchange(isDeliveryQueued_, true))
        QMetaObject::invokeMethod(this, &PlaygroundBridge::deliver, Qt::QueuedConnection);
}

void PlaygroundBridge::deliver() {
    {
        const std::lock_guard lock(mutex_);
        isDeliveryQueued_ = false;
    }
    snapshot_ = session_->latest();
    emit changed(snapshot_);
}

} // namespace attn
