#pragma once

#include "engine/session/snapshot.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QToolButton;

namespace attn {

/// The content of the status bar: the current activity with its progress and a Stop button, then model, device, speed
/// and memory. Where there is no room for all of these, memory goes first, then the device, then the speed.
class StatusStrip : public QWidget {
    Q_OBJECT

public:
    explicit StatusStrip(QWidget* parent = nullptr);

    void setSnapshot(const Snapshot& snapshot);
    /// Shows work of the window instead of the session's activity.
    /// @param what empty: the work has ended  @param progress 0..1
    void setWork(const QString& what, double progress = 0);
    /// Shows the activity of the training session while the other session is idle; empty: none.
    void setTraining(const QString& what);
    /// Adds a control behind the activity and its progress.
    void addControl(QWidget* control);
    /// Shows a permanent remark at the left, such as an active lock.
    void setRemark(const QString& remark);
    /// Shows how many warnings there are about the open models; none: nothing.
    void setWarnings(const QStringList& warnings);

signals:
    void cancelRequested();
    void warningsRequested(); ///< the person wants to read them

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QLabel* addField(const QString& help);
    /// Shows the fields that have room.
    void fitFields();

    /// @param progress 0..1; negative: nothing is running
    void showActivity(const QString& text, double progress);

    void showSession();

    QString work_, sessionText_, training_;
    double sessionProgress_ = -1;
    bool isSessionIdle_ = true;
    bool canStopReading_ = false; ///< a long prompt
    QLabel* activity_;
    QProgressBar* progress_;
    QToolButton *cancel_, *warnings_;
    QLabel *remark_, *model_, *device_, *speed_, *memory_;
};

} // namespace attn
