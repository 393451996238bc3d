#pragma once

#include "app/lab/bridge/delivery.h"
#include "engine/session/vision_session.h"

#include <QObject>

#include <memory>

namespace attn {

/// Owns the session of the vision model and turns its callbacks into queued signals.
class VisionBridge : public QObject {
    Q_OBJECT

public:
    explicit VisionBridge(DeviceChoice choice, QObject* parent = nullptr);
    ~VisionBridge() override;

    VisionSession& session() { return *session_; }
    /// The newest snapshot that was delivered; never null.
    const std::shared_ptr<const VisionSnapshot>& snapshot() const { return snapshot_; }
    /// A second session, for comparisons with this one. Created on first use.
    VisionBridge& second();

signals:
    void changed(const std::shared_ptr<const attn::VisionSnapshot>& snapshot);

private:
    DeviceChoice choice_;
    std::unique_ptr<VisionBridge> second_;
    std::shared_ptr<const VisionSnapshot> snapshot_ = std::make_shared<VisionSnapshot>();
    Delivery delivery_;
    std::unique_ptr<VisionSession> session_;
};

} // namespace attn
