#pragma once

#include "app/lab/bridge/delivery.h"
#include "engine/session/session.h"

#include <QObject>

#include <memory>
#include <mutex>
#include <vector>

namespace attn {

/// Connects Qt and the engine: owns the Session and turns its worker's callbacks into one queued signal. However fast
/// snapshots come, at most one notification waits in the event queue, and it delivers the newest.
class SessionBridge : public QObject {
    Q_OBJECT

public:
    explicit SessionBridge(DeviceChoice choice, QObject* parent = nullptr);
    ~SessionBridge() override;

    void post(Command command); ///< gives texts their number
    std::shared_ptr<const Snapshot> latest() const { return session_->latest(); }
    /// Whether a model is being opened.
    bool isOpeningModel() const;
    bool waitIdle(double timeoutSeconds = kNoLimit) { return session_->waitIdle(timeoutSeconds); }

signals:
    void snapshotChanged(std::shared_ptr<const attn::Snapshot> snapshot);
    /// Emitted once for each failure, after its snapshot, even if a later snapshot has already cleared the failure.
    void failed(const attn::Failure& failure);
    /// Emitted for each command that is sent to the session.
    void posted(const attn::Command& command);

private:
    void receive(); ///< on the worker thread
    void deliver();

    uint64_t openings_ = 0; ///< number of OpenModelCommands that were posted
    uint64_t texts_ = 0;    ///< number of texts that were posted: SetPromptCommand::number
    Delivery delivery_;
    uint64_t failureCount_ = 0; ///< of the snapshots that have been received
    std::mutex mutex_;
    std::vector<Failure> failures_; ///< not yet delivered; guarded by the mutex
    std::unique_ptr<Session> session_;
};

} // namespace attn
