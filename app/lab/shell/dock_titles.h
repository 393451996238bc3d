#pragma once

#include <QObject>
#include <QTimer>

class QDockWidget;
class QMainWindow;
class QTabBar;

namespace attn {

/// Shows each dock's title once: a dock that shares its place with others has its title on its tab and no title bar.
/// The context menu of a tab then closes the dock or takes it out of the window. A dock that is alone has no title.
class DockTitles : public QObject {
    Q_OBJECT

public:
    /// Call when the window has all its docks.
    explicit DockTitles(QMainWindow& window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void update();
    bool hasNoTitle(QDockWidget* dock) const;
    void showMenu(QTabBar& tabs, int tab, const QPoint& position);

    QMainWindow& window_;
    QTimer later_;
};

} // namespace attn
