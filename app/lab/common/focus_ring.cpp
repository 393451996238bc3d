#include "app/lab/common/focus_ring.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QEvent>
#include <QTabBar>

namespace attn {

FocusRing::FocusRing(QObject* parent) : QObject(parent) {
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { follow(now); });
}

void FocusRing::follow(QWidget* widget) {
    for (const QPointer<QWidget>& ancestor : ancestors_)
        if (ancestor) ancestor->removeEventFilter(this);
    ancestors_.clear();
    // Lists of menus and completers mark the focused item themselves.
    const auto isList = [](const QWidget& window) {
        return (window.windowFlags() & Qt::WindowType_Mask) == Qt::Popup && !window.property(kPopover).toBool();
    };
    const bool isMarked = !widget || widget->isWindow() || isList(*widget->window());
    target_ = isMarked ? nullptr : widget;
    QWidget* holder = nullptr;
    for (QWidget* each = target_; each && !holder; each = each->parentWidget()) {
        each->installEventFilter(this);
        ancestors_ << each;
        QWidget* above = each->parentWidget();
        if (above && (above->isWindow() || qobject_cast<QAbstractScrollArea*>(above->parentWidget()))) holder = above;
    }
    disconnect(tabMoved_);
    if (!holder) {
        if (ring_) ring_->hide();
        return;
    }
    holder->installEventFilter(this); // it would cut off the ring at its edges
    ancestors_ << holder;
    if (!ring_) {
        ring_ = new QWidget;
        ring_->setObjectName("focusRing");
        // Splitters and stacks treat any other child as one of their pages.
        ring_->setAttribute(Qt::WA_NoChildEventsForParent);
        ring_->setAttribute(Qt::WA_TransparentForMouseEvents);
        ring_->setBackgroundRole(QPalette::Highlight);
        ring_->setAutoFillBackground(true);
    }
    // The ring is moved and never deleted, because the focus also changes while Qt shows or hides the siblings one by
    // one.
    if (ring_->parentWidget() != holder) ring_->setParent(holder);
    if (auto* tabs = qobject_cast<QTabBar*>(target_))
        tabMoved_ = connect(tabs, &QTabBar::currentChanged, this, [this] { place(); });
    place();
}

void FocusRing::place() {
    if (!ring_ || !target_) return;
    if (!target_->isVisible()) return ring_->hide();
    const QRect holder = ring_->parentWidget()->rect();
    const auto* tabs = qobject_cast<const QTabBar*>(target_);
    const QRect marked = tabs ? tabs->tabRect(tabs->currentIndex()) : target_->rect();
    const QRect around = marked.translated(target_->mapTo(ring_->parentWidget(), QPoint()))
                             .adjusted(-kWidth, -kWidth, kWidth, kWidth)
                             .intersected(holder);
    ring_->setGeometry(around);
    ring_->setMask(QRegion(ring_->rect()) - ring_->rect().adjusted(kWidth, kWidth, -kWidth, -kWidth));
    ring_->raise();
    ring_->show();
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
    switch (event->type()) {
    case QEvent::Move:
    case QEvent::Resize:
    case QEvent::Show:
    case QEvent::Hide:
    case QEvent::ZOrderChange:
        place();
        break;
    case QEvent::ParentChange:
        follow(target_);
        break;
    default:
        break;
    }
    return QObject::eventFilter(watched, event);
}

QWidget* focusableIn(QWidget& group) {
    if (group.focusPolicy() != Qt::NoFocus) return &group;
    for (QWidget* inner : group.findChildren<QWidget*>())
        if (inner->focusPolicy() != Qt::NoFocus && inner->isVisible() && inner->isEnabled()) return inner;
    return &group;
}

bool isInSight(const QWidget& widget) {
    const QRect place(widget.mapTo(widget.window(), QPoint()), widget.size());
    return widget.isVisible() && widget.window()->rect().intersects(place);
}

} // namespace attn
