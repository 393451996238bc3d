#include "app/lab/shell/dock_layout.h"
#include "app/lab/widgets/heatmap_view.h"
#include "tests/lab/lab_window.h"

// A view reads only what it holds: models follow each other whatever the panels are set to, and workspaces whatever the
// mouse holds.

using namespace attn;

namespace {

const std::vector<std::string>& models() {
    static const std::string golden = std::string(ATTN_TEST_DIR) + "/golden/";
    static const std::vector<std::string> all{"builtin:induction", golden + "vit", golden + "t5_gated", golden + "bert",
                                              golden + "swin"};
    return all;
}

void open(LabWindow& lab, const std::string& path) {
    lab.window().files().open(QString::fromStdString(path));
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().path() == path);
}

std::vector<QDockWidget*> docks(LabWindow& lab) {
    const auto found = lab.window().findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly);
    return {found.begin(), found.end()};
}

/// Brings every panel to the front, sets each of its lists and boxes to one of its choices, and selects a row of each
/// table.
void setEverything(LabWindow& lab, int choice) {
    for (QDockWidget* dock : docks(lab)) {
        dock->show();
        dock->raise();
        QCoreApplication::processEvents();
        const auto controls = dock->findChildren<QWidget*>();
        for (const QPointer<QWidget>& control : std::vector<QPointer<QWidget>>(controls.begin(), controls.end())) {
            if (!control || !control->isEnabled() || !control->isVisible()) continue;
            if (auto* box = qobject_cast<QComboBox*>(control); box && box->count() > 0) {
                box->setCurrentIndex((choice + 1) % box->count());
                emit box->activated(box->currentIndex());
            } else if (auto* tick = qobject_cast<QCheckBox*>(control)) {
                tick->setChecked(choice % 2 == 0);
            }
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // a part brings controls of its own
        }
        for (auto* view : dock->findChildren<QAbstractItemView*>())
            if (const int rows = view->model() ? view->model()->rowCount() : 0; rows > 0 && view->isVisible())
                view->setCurrentIndex(view->model()->index(choice % rows, 0));
    }
    Workbench& bench = lab.window().workbench();
    bench.setGate(0, 0, 0.5f);
    bench.showRun(static_cast<ShownRun>(choice % 3));
    bench.select({.site = 1, .head = 1, .row = choice, .cell = Cell{1, 0}});
    bench.hoverToken(2 + choice);
    lab.find<QLineEdit>("compareText").setText("abca");
    lab.find<QComboBox>("compareWith").setCurrentIndex(1 + choice % 3);
}

/// What a lost device leaves: everything but the model.
std::shared_ptr<const Snapshot> withoutModel(const Snapshot& snapshot) {
    Snapshot lost = snapshot;
    lost.model.reset();
    return std::make_shared<const Snapshot>(std::move(lost));
}

} // namespace

TEST_CASE("switching: head kinds stay in the order that was chosen when another model opens", "[lab][switching]") {
    LabWindow lab("builtin:induction", "the quick fox the qu");
    lab.showPanel("kinds");
    auto& heads = lab.find<QTreeWidget>("kindHeads");
    auto& order = lab.find<QComboBox>("kindOrder");
    const auto areListed = [&] { return heads.topLevelItemCount() > 0; };
    REQUIRE(lab.waitFor(areListed));
    REQUIRE(order.count() > 4);
    for (int choice = 0; choice < order.count(); ++choice) {
        const QString chosen = order.itemText(choice);
        CAPTURE(chosen.toStdString());
        order.setCurrentIndex(choice);
        emit order.activated(choice);
        const QString help = heads.headerItem()->toolTip(2);
        open(lab, models()[2]);
        REQUIRE(lab.waitFor(areListed));
        CHECK(order.currentText() == chosen);
        CHECK(heads.headerItem()->toolTip(2) == help);
        lab.window().workbench().setSnapshot(std::make_shared<const Snapshot>());
        CHECK(order.currentText() == chosen);
        open(lab, models()[0]);
        REQUIRE(lab.waitFor(areListed));
    }
    open(lab, models()[1]); // whose heads have other kinds
    REQUIRE(lab.waitFor(areListed));
    CHECK(order.currentIndex() == 0);
}

TEST_CASE("switching: every panel shows every model after every other one, whatever is chosen", "[lab][switching]") {
    LabWindow lab("builtin:induction", "abcabc");
    const size_t count = models().size();
    for (int choice = 0; choice < 3; ++choice)
        for (size_t step = 1; step < count; ++step) // each model is followed by each other one
            for (size_t at = 0; at < count; ++at) {
                const std::string& path = models()[(at * step + static_cast<size_t>(choice)) % count];
                CAPTURE(choice, path);
                open(lab, path);
                setEverything(lab, choice + static_cast<int>(at));
                Workbench& bench = lab.window().workbench();
                if (at == 1) {
                    REQUIRE(lab.settle());
                    bench.setSnapshot(withoutModel(lab.snapshot()));
                    setEverything(lab, choice);
                    bench.setSnapshot(std::make_shared<const Snapshot>());
                    setEverything(lab, choice);
                }
            }
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model);
}

TEST_CASE("switching: panels are told of a new selection once all of them have the snapshot", "[lab][switching]") {
    LabWindow lab("builtin:induction", "abcabc");
    Workbench& bench = lab.window().workbench();
    bench.setGate(0, 0, 0);
    bench.showRun(ShownRun::Difference);
    bench.select({.site = 1, .head = 1, .row = 5, .cell = Cell{5, 1}});
    REQUIRE(lab.settle());
    bool isOut = false;
    int told = 0;
    const auto check = [&] {
        CHECK(isOut);
        ++told;
    };
    // The window connects last, so this comes after every panel.
    QObject::connect(&bench, &Workbench::snapshotChanged, &bench, [&] { isOut = true; });
    QObject::connect(&bench, &Workbench::headSelected, &bench, check);
    QObject::connect(&bench, &Workbench::selectionChanged, &bench, check);
    QObject::connect(&bench, &Workbench::shownRunChanged, &bench, check);
    QObject::connect(&bench, &Workbench::changesChanged, &bench, check);
    Snapshot empty;
    bench.setSnapshot(std::make_shared<const Snapshot>(empty));
    CHECK(told >= 2); // the run and the changes
}

TEST_CASE("switching: a workspace comes while the mouse holds a panel, a tab or an edge", "[lab][switching]") {
    LabWindow lab("builtin:induction", "abcabc");
    MainWindow& window = lab.window();
    CHECK_FALSE(window.isAnimated()); // a panel that slides to its place is in no arrangement
    const auto move = [&](QWidget& grip, QPoint from, QPoint to) {
        QTest::mousePress(&grip, Qt::LeftButton, {}, from);
        for (int step = 1; step <= 4; ++step) {
            QTest::mouseMove(&grip, from + (to - from) * step / 4);
            QCoreApplication::processEvents();
        }
    };
    for (const Workspace& from : workspaces())
        for (const Workspace& to : workspaces()) {
            if (&from == &to) continue;
            CAPTURE(from.id, to.id);
            lab.action((std::string("workspace.") + from.id).c_str()).trigger();
            lab.layOut();
            auto& dock = lab.find<QDockWidget>(("dock." + from.main.front()).toLatin1().constData());
            move(dock, {40, 8}, {-300, 200}); // its title
            lab.action((std::string("workspace.") + to.id).c_str()).trigger();
            lab.layOut();
            QTest::mouseRelease(&dock, Qt::LeftButton, {}, {10, 10});
            lab.layOut();
            for (const QString& id : to.main + to.above + to.below)
                CHECK(lab.find<QDockWidget>(("dock." + id).toLatin1().constData()).isVisible());
            lab.action((std::string("workspace.") + from.id).c_str()).trigger();
            lab.act("resetLayout");
            const auto tabs = window.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly);
            for (QTabBar* bar : tabs) {
                if (!bar->isVisible()) continue;
                move(*bar, bar->tabRect(0).center(), {200, 300});
                lab.action((std::string("workspace.") + to.id).c_str()).trigger();
                lab.layOut();
                QTest::mouseRelease(bar, Qt::LeftButton, {}, {10, 10});
                lab.action((std::string("workspace.") + from.id).c_str()).trigger();
                lab.layOut();
            }
            const QPoint edge(dock.geometry().left() - 2, dock.geometry().center().y());
            move(window, edge, edge + QPoint(60, 0));
            lab.action((std::string("workspace.") + to.id).c_str()).trigger();
            QTest::mouseMove(&window, edge + QPoint(90, 0));
            QTest::mouseRelease(&window, Qt::LeftButton, {}, edge);
            lab.act("resetLayout");
        }
    lab.act("workspace.write");
    CHECK(lab.find<QWidget>("prompt").isVisible());
}

TEST_CASE("switching: the keys of the levels bring Attention to the front, with the keyboard", "[lab][switching]") {
    LabWindow lab("builtin:induction", "abcabc");
    const auto check = [&](const char* key, const char* figure) {
        CAPTURE(key);
        lab.act(key);
        lab.layOut();
        const auto& dock = lab.find<QDockWidget>("dock.attention");
        CHECK(dock.isVisible());
        CHECK(lab.window().rect().intersects(dock.geometry()));
        CHECK(lab.find<QWidget>(figure).isVisible());
        CHECK(QApplication::focusWidget() == &lab.find<QWidget>(figure));
    };
    for (const char* away : {"panel.text", "panel.lenses", "workspace.build", "focusPrompt"}) {
        CAPTURE(away);
        for (const auto& [key, figure] : {std::pair("attentionHead", "attentionHeatmap"),
                                          {"attentionAll", "attentionGrid"},
                                          {"attentionCellLevel", "attentionHeatmap"}}) {
            lab.act(away);
            check(key, figure);
        }
    }
    // A click leaves the keyboard at the button.
    auto& button = lab.find<QToolButton>("attentionAll");
    button.setFocus();
    QTest::keyClick(&button, Qt::Key_Space);
    CHECK(button.hasFocus());
    CHECK(lab.find<QWidget>("attentionGrid").isVisible());
}
