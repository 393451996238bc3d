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
    auto& model = lab.find<QDockWidget>("dock.model");
    CHECK(lab.waitFor(titlesAreRight));
    CHECK(model.titleBarWidget());
    SECTION("in the layout of a lesson and in the default layout after it") {
        lab.window().arrangeFor({"attention", "heads"});
        CHECK(lab.waitFor(titlesAreRight));
        CHECK_FALSE(lab.find<QDockWidget>("dock.attention").titleBarWidget());
        lab.action("resetLayout").trigger();
        CHECK(lab.waitFor(titlesAreRight));
        CHECK(lab.find<QDockWidget>("dock.attention").titleBarWidget());
    }
    SECTION("in a layout that a session restores") {
        const QByteArray tabbed = lab.window().saveState();
        lab.window().arrangeFor({"model"});
        CHECK(lab.waitFor(titlesAreRight));
        CHECK_FALSE(model.titleBarWidget());
        REQUIRE(lab.window().restoreState(tabbed));
        CHECK(lab.waitFor(titlesAreRight));
        CHECK(model.titleBarWidget());
    }
    SECTION("in a window of its own and back") {
        model.setFloating(true);
        REQUIRE(lab.waitFor([&] { return !model.titleBarWidget(); }));
        CHECK(model.isVisible());
        CHECK_FALSE(model.windowFlags().testFlag(Qt::X11BypassWindowManagerHint));
        model.setFloating(false);
        CHECK(lab.waitFor(titlesAreRight));
    }
}

TEST_CASE("dock titles: the menu of a tab closes the panel or gives it a window", "[lab]") {
    LabWindow lab;
    auto& model = lab.find<QDockWidget>("dock.model");
    QAction* floatDock = actionOfTab(lab, "Model", "floatDock");
    REQUIRE(floatDock);
    floatDock->trigger();
    CHECK(model.isFloating());
    CHECK(model.screen()->geometry().contains(model.pos()));
    lab.action("resetLayout").trigger();
    delete lab.window().findChild<QMenu*>("tabMenu");
    QAction* closeDock = actionOfTab(lab, "Model", "closeDock");
    REQUIRE(closeDock);
    closeDock->trigger();
    CHECK(model.isHidden());
}
