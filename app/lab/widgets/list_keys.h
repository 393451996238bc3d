#pragma once

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>

#include <algorithm>

namespace attn {

/// Lets the arrow keys move through a list while the user types in a line. Rows that cannot be chosen are skipped.
class ListKeys : public QObject {
public:
    ListKeys(QLineEdit& line, QListWidget& list) : QObject(&line), list_(list) { line.installEventFilter(this); }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() != QEvent::KeyPress) return QObject::eventFilter(watched, event);
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int step = key == Qt::Key_Down       ? 1
                         : key == Qt::Key_Up       ? -1
                         : key == Qt::Key_PageDown ? 10
                         : key == Qt::Key_PageUp   ? -10
                                                   : 0;
        if (step == 0) return QObject::eventFilter(watched, event);
        const int from = std::clamp(list_.currentRow() + step, 0, std::max(0, list_.count() - 1));
        if (!moveTo(from, step > 0 ? 1 : -1)) moveTo(from, step > 0 ? -1 : 1);
        return true;
    }

private:
    /// @return whether a row can be chosen, from this one on in a direction
    bool moveTo(int row, int direction) {
        while (row >= 0 && row < list_.count() && !list_.item(row)->flags().testFlag(Qt::ItemIsEnabled))
            row += direction;
        if (row < 0 || row >= list_.count()) return false;
        list_.setCurrentRow(row);
        return true;
    }

    QListWidget& list_;
};

} // namespace attn
