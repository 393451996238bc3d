#pragma once

#include <QObject>

namespace attn {

/// Leaves the keys of Undo and Redo to the window where the field that has the keyboard has no change of its own. Qt's
/// fields take these keys also if there is nothing to undo in them. A number is a change of its box until Return is
/// pressed or another control has the keyboard. Install it on the application.
class UndoKeys : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace attn
