#pragma once

#include "engine/session/snapshot.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QToolButton;

namespace attn {

/// The status bar's content: what is going on with progress and Cancel, then model, device, speed and memory.
class StatusStrip : public QWidget {
    Q_OBJECT

public:
    explicit StatusStrip(QWidget* parent = nullptr);

    void setSnapshot(const Snapshot& snapshot);
    /// Work of the window's own, which hides what the session does. @param progress 0..1  @param what empty: it is over
    void setWork(const QString& what, double progress = 0);
    /// A permanent remark at the left, such as a lock in force.
    void setRemark(const QString& remark);

signals:
    void cancelRequested();

private:
    QLabel* addField(const QString& name, const QString& help);

    /// @param progress 0..1; negative: there is nothing to wait for
    void showActivity(const QString& text, double progress);

    QString work_, sessionText_;
    double sessionProgress_ = -1;
    QLabel* activity_;
    QProgressBar* progress_;
    QToolButton* cancel_;
    QLabel *remark_, *model_, *device_, *speed_, *memory_;
};

} // namespace attn
