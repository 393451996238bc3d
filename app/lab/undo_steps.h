#pragma once

#include <QElapsedTimer>
#include <QObject>

#include <functional>

namespace attn {

/// Says which changes belong to one step of undo. From the press of a mouse button to its release, all do, however long
/// it takes. Without a button, as with keys and the wheel, those do that follow one another without a pause.
class UndoSteps : public QObject {
    Q_OBJECT

public:
    static constexpr qint64 kPauseMs = 1000; ///< a longer pause begins another step

    using Clock = std::function<qint64()>; ///< milliseconds since some moment

    /// Watches the mouse buttons of the whole application.
    UndoSteps();

    /// The step of a change that is made now: commands of the same thing and the same step merge.
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
