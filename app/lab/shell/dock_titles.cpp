#include "app/lab/shell/dock_titles.h"

#include "app/lab/common/fit_screen.h"
#include "app/lab/widgets/widget_makers.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <QTabBar>

#include <algorithm>

namespace attn {

DockTitles::DockTitles(QMainWindow& window) : QObject(&window), window_(window) {
    later_.setSingleShot(true); // docks are moved several at a time
    connect(&later_, &QTimer::timeout, this, &DockTitles::update);
    const auto schedule = [this] { later_.start(0); };
    for (QDockWidget* dock : window.findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly)) {
        connect(dock, &QDockWidget::dockLocationChanged, this, schedule);
        connect(dock, &QDockWidget::topLevelChanged, this, schedule);
        connect(dock, &QDockWidget::visibilityChanged, this, schedule);
    }
    window.installEventFilter(this);
    schedule();
}

bool DockTitles::eventFilter(QObject* watched, QEvent* event) {
    if (watched == &window_) {
        if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::ChildAdded) later_.start(0);
    } else if (auto* tabs = qobject_cast<QTabBar*>(watched); tabs && event->type() == QEvent::ContextMenu) {
        const auto& menu = static_cast<const QContextMenuEvent&>(*event);
        if (const int tab = tabs->tabAt(menu.pos()); tab >= 0) showMenu(*tabs, tab, menu.globalPos());
        return true;
    }
    return QObject::eventFilter(watched, event);
}

void DockTitles::update() {
    if (QApplication::mouseButtons() != Qt::NoButton) { // a dock that is being dragged must not change its frame
        later_.start(100);
        return;
    }
    for (QTabBar* tabs : window_.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) tabs->installEventFilter(this);
    for (QDockWidget* dock : window_.findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly)) {
        if (dock->isHidden() && !dock->isFloating()) continue;
        QWidget* hidden = dock->titleBarWidget();
        if (hasNoTitle(dock) == (hidden != nullptr)) continue;
        dock->setTitleBarWidget(hidden ? nullptr : new QWidget(dock)); // an empty widget takes no room
        if (!hidden) continue;
        hidden->deleteLater();
        if (!dock->isFloating()) continue;
        // Qt gives the frame back to a floating dock as if it were being dragged: no window manager looks after it.
        const bool isShown = dock->isVisible();
        dock->setWindowFlag(Qt::X11BypassWindowManagerHint, false);
        dock->setVisible(isShown);
    }
}

bool DockTitles::hasNoTitle(QDockWidget* dock) const {
    if (dock->isFloating()) return false;
    if (dock->features() == QDockWidget::NoDockWidgetFeatures) return true;
    const auto others = window_.tabifiedDockWidgets(dock);
    return std::ranges::any_of(others,
                               [](const QDockWidget* other) { return !other->isHidden() && !other->isFloating(); });
}

void DockTitles::showMenu(QTabBar& tabs, int tab, const QPoint& position) {
    const auto docks = window_.findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly);
    const auto found = std::ranges::find(docks, tabs.tabText(tab), &QDockWidget::windowTitle);
    if (found == docks.end()) return;
    QDockWidget* dock = *found;
    auto* menu = identified(new QMenu(&window_), "tabMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto giveWindow = [dock, position, room = tabs.width()] {
        dock->setFloating(true);
        // Qt keeps a dock that is not in front outside the screen.
        dock->resize(dock->size().expandedTo({room * 2 / 3, room / 2}));
        dock->move(position);
        fitScreen(*dock);
        dock->raise();
    };
    menu->addAction(tr("&Show in a separate window"), dock, giveWindow)->setObjectName("floatDock");
    menu->addAction(tr("&Close"), dock, &QDockWidget::close)->setObjectName("closeDock");
    menu->popup(position);
}

} // namespace attn
