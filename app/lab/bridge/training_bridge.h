#pragma once

#include "app/lab/bridge/delivery.h"
#include "app/lab/bridge/session_bridge.h"
#include "engine/session/training_session.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// Owns the training session and turns its callbacks into queued signals. It also lets the views follow a training run:
/// it passes the current weights to the views' session, at a rate that costs only a small part of the machine.
class TrainingBridge : public QObject {
    Q_OBJECT

public:
    TrainingBridge(DeviceChoice choice, SessionBridge& views, QObject* parent = nullptr);
    ~TrainingBridge() override;

    TrainingSession& session() { return *session_; }
    /// The newest snapshot that was delivered; never null.
    const std::shared_ptr<const TrainingSnapshot>& snapshot() const { return snapshot_; }

    /// Whether the views show the weights of a run while it trains.
    bool isFollowing() const { return isFollowing_; }
    void follow(bool on);
    /// Whether the next run that starts leaves the views unchanged until follow(true), because they show a text that is
    /// being written and would be replaced.
    void holdViews(bool on);
    /// Whether a model of the views is writing.
    bool isWriting() const;
    /// The step of a training run that the views show.
    struct ShownStep {
        QString run; ///< its folder
        int64_t step = 0;
        bool operator==(const ShownStep&) const = default;
    };
    const std::optional<ShownStep>& shownStep() const { return shownStep_; } ///< none if they show no run
    /// The answers at the step that the views show, or at the last evaluated step before it; none if the views show
    /// another model or these answers are unknown.
    std::optional<AnswersAtStep> answers() const;
    /// Shows a checkpoint. The views stop following the training run.
    void show(const QString& run, const QString& checkpoint, int64_t step);

signals:
    void changed(const std::shared_ptr<const attn::TrainingSnapshot>& snapshot);
    void pointsArrived(const QString& folder, const std::vector<attn::MetricPoint>& points);
    void failed(const attn::Failure& failure);
    void followingChanged(bool on);
    /// A run started while the views are writing a text.
    void viewsHeld();
    void shownStepChanged();
    /// The views show the weights at this path: a training run or a checkpoint.
    void stepShown(const QString& path);

private:
    void deliver();
    void showNewest();
    void onShown(std::shared_ptr<const WeightSet> weights);

    SessionBridge& views_;
    std::shared_ptr<const TrainingSnapshot> snapshot_ = std::make_shared<TrainingSnapshot>();
    uint64_t failureCount_ = 0;
    std::string opened_; ///< folder of the run that was opened last; empty: it is closed
    bool isFollowing_ = true, isHeld_ = false;
    std::optional<ShownStep> shownStep_;
    std::shared_ptr<const WeightSet> underway_; ///< posted, but not shown yet
    bool opensRun_ = false;                     ///< whether these weights open another model in the views
    QElapsedTimer sincePosted_;
    QTimer pause_; ///< delay until the next weights are requested
    Delivery delivery_;
    std::unique_ptr<TrainingSession> session_;
};

} // namespace attn
