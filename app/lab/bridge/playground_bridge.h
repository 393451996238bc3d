#pragma once

#include "engine/session/playground_session.h"

#include <QObject>

#include <memory>
#include <mutex>

namespace attn {

/// Owns the playground's session and turns its callbacks into queued signals.
class PlaygroundBridge : public QObject {
    Q_OBJECT

public:
    explicit PlaygroundBridge(PlaygroundSession::Options options, QObject* parent = nullptr);
    ~PlaygroundBridge() override;

    PlaygroundSession& session() { return *session_; }
    /// The newest that was delivered; never null.
    const std::shared_ptr<const PlaygroundSnapshot>& snapshot() const { return snapshot_; }

signals:
    void changed(const std::shared_ptr<const attn::PlaygroundSnapshot>& snapshot);

private:
    void receive(); ///< on the session's thread
    void deliver();

    std::shared_ptr<const PlaygroundSnapshot> snapshot_ = std::make_shared<PlaygroundSnapshot>();
    std::mutex mutex_; ///< guards what follows, up to the session
    bool isClosing_ = false, isDeliveryQueued_ = false;
    std::unique_ptr<PlaygroundSession> session_;
};

} // namespace attn
