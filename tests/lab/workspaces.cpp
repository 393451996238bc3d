#include "app/lab/shell/workspaces.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/widgets/generated_text.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

/// Share of the window that the main figure of a workspace takes, from 0 to 1.
double shareOfFigure(LabWindow& lab, const Workspace& workspace) {
    auto& dock = lab.find<QDockWidget>(("dock." + workspace.main.front()).toLatin1().constData());
    const QWidget* figure = dock.findChild<Panel*>()->figure();
    QRect seen(figure->mapTo(&lab.window(), QPoint()), figure->size()); // a place that scrolls may show only a part
    for (const QWidget* around = figure->parentWidget(); around != &lab.window(); around = around->parentWidget())
        seen &= QRect(around->mapTo(&lab.window(), QPoint()), around->size());
    const auto area = [](const QSize& size) { return static_cast<double>(size.width()) * size.height(); };
    return figure->isVisible() ? area(seen.size()) / area(lab.window().size()) : 0;
}

/// A tab that is not in front lies outside the window.
bool isInFront(LabWindow& lab, const char* name) {
    const auto& dock = lab.find<QDockWidget>(name);
    return dock.isVisible() && lab.window().rect().intersects(dock.geometry());
}

void resizeTo(LabWindow& lab, QSize size) {
    lab.window().resize(size);
    REQUIRE(lab.waitFor([&] { return lab.window().size() == size; }, 5'000));
    lab.layOut();
}

} // namespace

TEST_CASE("workspaces: the main figure takes most of the window", "[lab][workspaces]") {
    LabWindow lab("builtin:induction", "abcabc");
    const auto check = [&](QSize size, double least) {
        resizeTo(lab, size);
        for (const Workspace& workspace : workspaces()) {
            lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
            lab.layOut();
            CAPTURE(workspace.id, size.width(), size.height());
            for (const QString& id : workspace.main + workspace.above + workspace.below) {
                const auto& dock = lab.find<QDockWidget>(("dock." + id).toLatin1().constData());
                UNSCOPED_INFO(id.toStdString()
                              << ": " << dock.width() << " of at least " << dock.minimumSizeHint().width()
                              << ", height " << dock.height() << " of at least " << dock.minimumSizeHint().height());
            }
            CHECK(shareOfFigure(lab, workspace) >= least);
        }
    };
    SECTION("1440 x 900") { check({1440, 900}, 0.60); }
    SECTION("1920 x 1080") { check({1920, 1080}, 0.60); }
    SECTION("1024 x 700") { check({1024, 700}, 0.45); }
    SECTION("large text for a projector") {
        lab.action("themeProjector").trigger();
        check({1440, 900}, 0.45);
        lab.action("themeLight").trigger();
    }
}

TEST_CASE("workspaces: the written text has room, and every button of Write is in sight", "[lab][workspaces]") {
    LabWindow lab("builtin:english", "The teacher gave the books to the students because");
    lab.action("workspace.write").trigger();
    const auto check = [&](QSize size, int lines) {
        resizeTo(lab, size);
        const auto& text = lab.find<GeneratedText>("text");
        CAPTURE(size.width(), size.height(), text.viewport()->height());
        CHECK(text.viewport()->visibleRegion().boundingRect().height() >= lines * text.fontMetrics().lineSpacing());
        for (const char* name : {"prompt", "suggestion.rest", "run", "step", "stop", "reset", "amount", "speed"}) {
            const auto& control = lab.find<QWidget>(name);
            CAPTURE(name);
            CHECK(control.visibleRegion().boundingRect() == control.rect());
        }
    };
    SECTION("1440 x 900") { check({1440, 900}, 6); }
    SECTION("1024 x 700") { check({1024, 700}, 3); }
    SECTION("large text for a projector") {
        lab.action("themeProjector").trigger();
        lab.layOut();
        check({1440, 900}, 3);
        lab.action("themeLight").trigger();
    }
}

TEST_CASE("workspaces: a place has at most five tabs, and every panel has a place", "[lab][workspaces]") {
    LabWindow lab;
    for (const Workspace& workspace : workspaces()) {
        for (const QStringList& place : {workspace.main, workspace.above, workspace.below}) CHECK(place.size() <= 5);
        lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
        lab.layOut();
        for (const auto* dock : lab.window().findChildren<QDockWidget*>()) {
            CAPTURE(workspace.id, dock->objectName().toStdString());
            CHECK(dock->isHidden() != workspace.holds(dock->objectName().mid(5)));
        }
    }
    for (const auto* dock : lab.window().findChildren<QDockWidget*>())
        CHECK(std::ranges::any_of(workspaces(), [&](const auto& w) { return w.holds(dock->objectName().mid(5)); }));
}

TEST_CASE("workspaces: a window that grows and shrinks back looks as before", "[lab][workspaces]") {
    LabWindow lab;
    resizeTo(lab, {1200, 800});
    const auto sizes = [&] {
        std::map<QString, QSize> found;
        for (const auto* dock : lab.window().findChildren<QDockWidget*>())
            if (isInFront(lab, dock->objectName().toLatin1().constData())) found[dock->objectName()] = dock->size();
        return found;
    };
    for (const Workspace& workspace : workspaces()) {
        CAPTURE(workspace.id);
        lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
        lab.layOut();
        const auto before = sizes();
        REQUIRE(!before.empty());
        resizeTo(lab, {1900, 1050});
        CHECK(sizes() != before);
        resizeTo(lab, {1024, 700});
        resizeTo(lab, {1200, 800});
        for (const auto& [name, size] : sizes()) {
            CAPTURE(name.toStdString(), size.width(), size.height());
            CHECK(before.contains(name));
            CHECK(before.at(name).width() == size.width());
            CHECK(std::abs(before.at(name).height() - size.height()) <= 1); // Qt rounds the height of a row of tabs
        }
    }
}

TEST_CASE("workspaces: only a drag of its edge changes the width of the column", "[lab][workspaces]") {
    LabWindow lab("builtin:induction", "abcabc");
    resizeTo(lab, {1440, 900});
    auto &column = lab.find<QDockWidget>("dock.generate"), &main = lab.find<QDockWidget>("dock.attention");
    const int width = column.width();
    QTest::mousePress(&column, Qt::LeftButton);
    lab.window().resizeDocks({&column, &main}, {width + 80, 1440 - width - 80}, Qt::Horizontal);
    lab.layOut();
    QTest::mouseRelease(&column, Qt::LeftButton);
    CHECK(lab.waitFor([&] { return column.width() == width; }, 5'000));

    const QPoint edge(column.geometry().right() + 2, column.geometry().center().y());
    QTest::mousePress(&lab.window(), Qt::LeftButton, {}, edge);
    QTest::mouseMove(&lab.window(), edge + QPoint(60, 0));
    CHECK(lab.waitFor([&] { return column.width() == width + 60; }, 5'000));
    QTest::mouseRelease(&lab.window(), Qt::LeftButton, {}, edge + QPoint(60, 0));
    lab.layOut();
    const int chosen = column.width();
    CHECK(chosen > width);
    lab.act("workspace.train");
    CHECK(lab.action("workspace.train").isChecked());
    lab.act("workspace.write");
    CHECK(column.width() == chosen);
}

TEST_CASE("workspaces: text that grows and shrinks back leaves the column as before", "[lab][workspaces]") {
    LabWindow lab("builtin:induction", "abcabc");
    resizeTo(lab, {1440, 900});
    const auto& column = lab.find<QDockWidget>("dock.generate");
    const int width = column.width();
    for (int i = 0; i < 4; ++i) lab.act("textLarger");
    CHECK(column.width() > width);
    lab.act("textNormal");
    CHECK(lab.waitFor([&] { return column.width() == width; }, 5'000));
}

TEST_CASE("workspaces: large text leaves a small window as it is", "[lab][workspaces]") {
    LabWindow lab("builtin:english");
    const QSize size(1024, 700);
    resizeTo(lab, size);
    const auto check = [&](const char* text) {
        for (const Workspace& workspace : workspaces()) {
            lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
            lab.layOut();
            CAPTURE(text, workspace.id);
            for (const QString& id : workspace.main + workspace.above + workspace.below) {
                const auto& dock = lab.find<QDockWidget>(("dock." + id).toLatin1().constData());
                UNSCOPED_INFO(id.toStdString()
                              << ": " << dock.width() << " of at least " << dock.minimumSizeHint().width() << " x "
                              << dock.minimumSizeHint().height());
            }
            CHECK(lab.window().size() == size);
        }
    };
    for (int i = 0; i < 4; ++i) lab.act("textLarger");
    check("four steps larger");
    lab.act("textNormal");
    lab.action("themeProjector").trigger();
    check("for a projector");
    lab.action("themeLight").trigger();
}

TEST_CASE("workspaces: each keeps the arrangement that the user gave it, until it is restored", "[lab][workspaces]") {
    LabWindow lab;
    auto& next = lab.find<QDockWidget>("dock.next");
    next.close();
    lab.act("workspace.train");
    CHECK(lab.find<QDockWidget>("dock.train").isVisible());
    lab.act("workspace.write");
    CHECK(next.isHidden());
    CHECK_FALSE(lab.action("shown.next").isChecked());
    lab.act("resetLayout");
    CHECK(next.isVisible());
    CHECK(lab.action("shown.next").isChecked());
}

TEST_CASE("workspaces: a panel is shown where it is, and else in its workspace", "[lab][workspaces]") {
    LabWindow lab;
    lab.act("panel.branches");
    CHECK(lab.find<QToolButton>("workspace.write").isChecked());
    lab.act("panel.lenses");
    CHECK(lab.find<QToolButton>("workspace.inspect").isChecked());
    CHECK(isInFront(lab, "dock.lenses"));
    lab.act("panel.lenses"); // the same key does not close it
    CHECK(isInFront(lab, "dock.lenses"));
}

TEST_CASE("workspaces: a click on the rail leaves no second button marked", "[lab][workspaces]") {
    LabWindow lab("builtin:induction", "abcabc");
    for (const Workspace& from : workspaces())
        for (const Workspace& to : workspaces()) {
            CAPTURE(from.id, to.id);
            lab.action((std::string("workspace.") + from.id).c_str()).trigger();
            lab.layOut();
            QString front = from.above.isEmpty() ? from.main.front() : from.above.front();
            auto& panel = *lab.find<QDockWidget>(("dock." + front).toLatin1().constData()).findChild<Panel*>();
            focusableIn(panel)->setFocus();
            QTest::mouseClick(&lab.find<QToolButton>((std::string("workspace.") + to.id).c_str()), Qt::LeftButton);
            lab.layOut();
            const QWidget* now = QApplication::focusWidget();
            REQUIRE(now);
            CHECK_FALSE(lab.find<QWidget>("workspaces").isAncestorOf(now));
            CHECK(now->isVisible());
        }
}

TEST_CASE("workspaces: the key of the rail keeps its button, and the prompt keeps the cursor", "[lab][workspaces]") {
    LabWindow lab("builtin:induction", "abcabc");
    auto& train = lab.find<QToolButton>("workspace.train");
    train.setFocus(Qt::TabFocusReason);
    QTest::keyClick(&train, Qt::Key_Space);
    CHECK(train.hasFocus());
    lab.act("workspace.write");
    CHECK(lab.find<QToolButton>("workspace.write").hasFocus());
    lab.find<QWidget>("prompt").setFocus();
    lab.act("workspace.inspect");
    CHECK(lab.find<QWidget>("prompt").hasFocus());
}
