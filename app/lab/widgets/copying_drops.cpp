#include "app/lab/widgets/copying_drops.h"

#include <QCoreApplication>
#include <QDropEvent>

namespace attn {

void CopyingDrops::give(QObject& widget, QDropEvent& event, QDropEvent&& copy) {
    copy.setAccepted(event.isAccepted());
    copy_ = &copy;
    target_ = &widget;
    QCoreApplication::sendEvent(&widget, &copy);
    copy_ = nullptr;
    event.setDropAction(copy.dropAction());
    event.setAccepted(copy.isAccepted() && copy.dropAction() != Qt::MoveAction);
}

bool CopyingDrops::eventFilter(QObject* watched, QEvent* event) {
    const QEvent::Type type = event->type();
    if (type != QEvent::DragEnter && type != QEvent::DragMove && type != QEvent::Drop) return false;
    if (event == copy_) { // of the parents, which are asked with the event itself
        if (watched != target_) event->ignore();
        return watched != target_;
    }
    auto& drop = *static_cast<QDropEvent*>(event);
    if (drop.source() || !watched->isWidgetType() || !drop.possibleActions().testFlag(Qt::MoveAction)) return false;
    const Qt::DropActions actions = drop.possibleActions() & ~Qt::DropActions(Qt::MoveAction);
    if (!actions) {
        drop.setDropAction(Qt::IgnoreAction);
        drop.ignore();
    } else if (type == QEvent::DragEnter) {
        give(*watched, drop,
             QDragEnterEvent(drop.position().toPoint(), actions, drop.mimeData(), drop.buttons(), drop.modifiers()));
    } else if (type == QEvent::DragMove) {
        give(*watched, drop,
             QDragMoveEvent(drop.position().toPoint(), actions, drop.mimeData(), drop.buttons(), drop.modifiers()));
    } else {
        give(*watched, drop, QDropEvent(drop.position(), actions, drop.mimeData(), drop.buttons(), drop.modifiers()));
    }
    return true;
}

} // namespace attn
