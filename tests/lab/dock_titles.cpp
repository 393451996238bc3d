#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

/// Every docked panel's title is in its title bar or on a tab, and not in both places.
bool showsEachTitleOnce(LabWindow& lab) {
    QStringList tabs;
    for (const auto* bar : lab.window().findChildren<QTabBar*>(Qt::FindDirectChildrenOnly))
        for (int i = 0; bar->isVisible() && i < bar->count(); ++i) tabs << bar->tabText(i);
    for (const auto* dock : lab.window().findChildren<QDockWidget*>())
        if (!dock->isHidden() && tabs.contains(dock->windowTitle()) != (dock->titleBarWidget() != nullptr))
            return false;
    return true;
}

/// @return the action of the menu that a right-click on the tab with this title opens
QAction* actionOfTab(LabWindow& lab, const QString& title, const char* action) {
    for (auto* bar : lab.window().findChildren<QTabBar*>(Qt::FindDirectChildrenOnly))
        for (int i = 0; i < bar->count(); ++i) {
            if (bar->tabText(i) != title) continue;
            const QPoint middle = bar->tabRect(i).center();
            QContextMenuEvent click(QContextMenuEvent::Mouse, middle, bar->mapToGlobal(middle));
            QCoreApplication::sendEvent(bar, &click);
            return lab.window().findChild<QAction*>(action);
        }
    return nullptr;
}

} // namespace

TEST_CASE("dock titles: a tabbed panel has its title on the tab, any other one in its title bar", "[lab]") {
    LabWindow lab;
    const auto titlesAreRight = [&] { return showsEachTitleOnce(lab); };
    auto& branches = lab.find<QDockWidget>("dock.branches");
    CHECK(lab.waitFor(titlesAreRight));
    CHECK(branches.titleBarWidget());
    SECTION("in the layout of a lesson and in the default layout after it") {
        lab.window().lessons().arrangeFor({"attention", "heads"});
        CHECK(lab.waitFor(titlesAreRight));
        CHECK_FALSE(lab.find<QDockWidget>("dock.attention").titleBarWidget());
        lab.action("workspace.write").trigger();
        CHECK(lab.waitFor(titlesAreRight));
        CHECK(lab.find<QDockWidget>("dock.attention").titleBarWidget());
    }
    SECTION("in a layout that a session restores") {
        const QByteArray tabbed = lab.window().saveState();
        lab.window().lessons().arrangeFor({"branches"});
        CHECK(lab.waitFor(titlesAreRight));
        CHECK_FALSE(branches.titleBarWidget());
        REQUIRE(lab.window().restoreState(tabbed));
        CHECK(lab.waitFor(titlesAreRight));
        CHECK(branches.titleBarWidget());
    }
    SECTION("in a window of its own and back") {
        branches.setFloating(true);
        REQUIRE(lab.waitFor([&] { return !branches.titleBarWidget(); }));
        CHECK(branches.isVisible());
        CHECK_FALSE(branches.windowFlags().testFlag(Qt::X11BypassWindowManagerHint));
        branches.setFloating(false);
        CHECK(lab.waitFor(titlesAreRight));
    }
}

TEST_CASE("dock titles: the menu of a tab closes the panel or gives it a window", "[lab]") {
    LabWindow lab;
    auto& branches = lab.find<QDockWidget>("dock.branches");
    QAction* floatDock = actionOfTab(lab, "Branches", "floatDock");
    REQUIRE(floatDock);
    floatDock->trigger();
    CHECK(branches.isFloating());
    CHECK(branches.screen()->geometry().contains(branches.pos()));
    lab.action("resetLayout").trigger();
    delete lab.window().findChild<QMenu*>("tabMenu");
    QAction* closeDock = actionOfTab(lab, "Branches", "closeDock");
    REQUIRE(closeDock);
    closeDock->trigger();
    CHECK(branches.isHidden());
}
