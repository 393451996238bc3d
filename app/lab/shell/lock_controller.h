#pragma once

#include "app/lab/common/control_groups.h"

#include <QObject>

#include <optional>

class QWidget;

namespace attn {

/// The controls that are locked or hidden: by the user, for a class, or by the lesson that runs.
class LockController : public QObject {
    Q_OBJECT

public:
    explicit LockController(QWidget& window) : window_(window) {}

    const ControlLocks& own() const { return own_; }
    void setOwn(const ControlLocks& locks);
    /// Applies locks instead of the user's own. @param locks nothing: returns to the user's
    void setLesson(const std::optional<ControlLocks>& locks);
    bool isLesson() const { return lesson_.has_value(); }
    const ControlLocks& inForce() const { return lesson_ ? *lesson_ : own_; }
    bool mayOpenFiles() const { return inForce().value("files") == ControlState::Free; }
    /// Applies them to docks and actions that have come since.
    void apply();
    void showDialog();

signals:
    void applied();

private:
    QWidget& window_;
    ControlLocks own_;
    std::optional<ControlLocks> lesson_;
};

} // namespace attn
