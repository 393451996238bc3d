#pragma once

#include <QObject>

class QDropEvent;

namespace attn {

/// Lets a drop from another program copy what is dragged, never move it: a program that is told of a move deletes its
/// file. Where it allows neither a copy nor a link, the drop is refused. Install it on the application.
class CopyingDrops : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void give(QObject& widget, QDropEvent& event, QDropEvent&& copy);

    const QEvent* copy_ = nullptr; ///< an event without the action Move, while it is delivered
    const QObject* target_ = nullptr;
};

} // namespace attn
