#include "app/lab/workbench/undo_steps.h"

#include <QEvent>
#include <QGuiApplication>

namespace attn {

UndoSteps::UndoSteps() : clock_([this] { return timer_.elapsed(); }) {
    timer_.start();
    if (qApp) qApp->installEventFilter(this);
}

int UndoSteps::step() {
    const qint64 now = clock_();
    if (!isPressed_ && now - lastMs_ > kPauseMs) ++step_;
    lastMs_ = now;
    return step_;
}

bool UndoSteps::eventFilter(QObject*, QEvent* event) {
    switch (event->type()) {
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonDblClick:
        if (!isPressed_) ++step_; // widgets that ignore a press hand the same one to their parents
        isPressed_ = true;
        break;
    case QEvent::KeyPress: // in case the release went elsewhere
        if (QGuiApplication::mouseButtons() != Qt::NoButton) break;
        [[fallthrough]];
    case QEvent::MouseButtonRelease:
        if (isPressed_) lastMs_ = clock_();
        isPressed_ = false;
        break;
    default:
        break;
    }
    return false;
}

} // namespace attn
