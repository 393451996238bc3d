#pragma once

#include "app/lab/bridge/delivery.h"
#include "engine/session/cost_session.h"
#include "engine/session/playground_session.h"

#include <QObject>

#include <memory>

namespace attn {

/// Owns the playground's sessions and turns their callbacks into queued signals.
class PlaygroundBridge : public QObject {
    Q_OBJECT

public:
    explicit PlaygroundBridge(DeviceChoice choice, QObject* parent = nullptr);
    ~PlaygroundBridge() override;

    PlaygroundSession& session() { return *session_; }
    /// The newest snapshot that was delivered; never null.
    const std::shared_ptr<const PlaygroundSnapshot>& snapshot() const { return snapshot_; }

    /// The session that measures costs. It has its own thread and device, so that measuring never delays the patterns.
    CostSession& costs() { return *costs_; }

signals:
    void changed(const std::shared_ptr<const attn::PlaygroundSnapshot>& snapshot);
    void costsChanged(const std::shared_ptr<const attn::CostSnapshot>& snapshot);

private:
    std::shared_ptr<const PlaygroundSnapshot> snapshot_ = std::make_shared<PlaygroundSnapshot>();
    Delivery maps_, costing_;
    std::unique_ptr<PlaygroundSession> session_;
    std::unique_ptr<CostSession> costs_;
};

} // namespace attn
