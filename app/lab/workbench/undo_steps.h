#pragma once

#include <QElapsedTimer>
#include <QObject>

#include <functional>

namespace attn {

/// Decides which changes belong to one step of undo. All changes between the press and the release of a mouse button
/// form one step, however long it takes. Changes by keys and the wheel form one step until there is a pause.
class UndoSteps : public QObject {
    Q_OBJECT

public:
    static constexpr qint64 kPauseMs = 1000; ///< a longer pause starts a new step

    using Clock = std::function<qint64()>; ///< milliseconds since a fixed time

    /// Watches the mouse buttons of the whole application.
    UndoSteps();

    /// The number of the current step. Commands that change the same setting in the same step merge.
    int step();
    /// For tests, which do not wait.
    void setClock(Clock clock) { clock_ = std::move(clock); }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QElapsedTimer timer_;
    Clock clock_;
    int step_ = 0;
    qint64 lastMs_ = 0; ///< when the last change was made, or the button was released
    bool isPressed_ = false;
};

} // namespace attn
