#pragma once

#include <QDockWidget>
#include <QEvent>
#include <QWidget>

#include <functional>

namespace attn {

/// Reports when a panel comes to the front of its tabbed docks and when it leaves it. A panel behind other tabs counts
/// as visible in Qt although nobody sees it.
class FrontWatch : public QObject {
public:
    FrontWatch(QWidget* panel, std::function<void(bool)> changed)
        : QObject(panel), panel_(panel), changed_(std::move(changed)) {
        panel->installEventFilter(this);
    }
    bool isInFront() const { return isInFront_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Show && !isWatching_) {
            isWatching_ = true;
            QWidget* around = panel_->parentWidget();
            while (around && !qobject_cast<QDockWidget*>(around)) around = around->parentWidget();
            if (auto* dock = qobject_cast<QDockWidget*>(around))
                connect(dock, &QDockWidget::visibilityChanged, this, [this](bool isInFront) { set(isInFront); });
            else
                set(true);
        }
        return QObject::eventFilter(watched, event);
    }

private:
    void set(bool isInFront) {
        isInFront_ = isInFront;
        changed_(isInFront);
    }

    QWidget* panel_;
    std::function<void(bool)> changed_;
    bool isWatching_ = false, isInFront_ = false;
};

} // namespace attn
