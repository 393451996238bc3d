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
    /// A permanent remark at the left, such as a lock in force.
    void setRemark(const QString& remark);

signals:
    void cancelRequested();

private:
    QLabel* addField(const QString& name, const QString& help);

    QLabel* activity_;
    QProgressBar* progress_;
    QToolButton* cancel_;
    QLabel *remark_, *model_, *device_, *speed_, *memory_;
};

} // namespace attn
