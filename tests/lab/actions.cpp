#include "app/figures/lens_pages.h"
#include "app/lab/common/preferences.h"
#include "app/lab/lessons/lesson_player.h"
#include "engine/training/initial_weights.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

QList<QAction*> namedActions(MainWindow& window) {
    QList<QAction*> actions;
    for (QAction* action : window.actions())
        if (!action->isSeparator()) actions << action;
    return actions;
}

void closeDialogs(MainWindow& window) {
    QWhatsThis::hideText();
    for (auto* dialog : window.findChildren<QDialog*>()) dialog->reject();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QCoreApplication::processEvents();
    window.activateWindow();
    (void)QTest::qWaitForWindowActive(&window, 1000);
}

/// Opens what the finder lists in a row that begins so.
void choose(LabWindow& lab, const QString& words, const QString& row) {
    lab.press(lab.action("find"));
    auto& field = lab.find<QLineEdit>("finderWords");
    field.setText(words);
    const auto& list = lab.find<QListWidget>("finderList");
    for (int i = 0; !list.item(i)->text().startsWith(row); ++i) {
        REQUIRE(i + 1 < list.count());
        QTest::keyClick(&field, Qt::Key_Down);
    }
    QTest::keyClick(&field, Qt::Key_Return);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

bool isInteractive(const QWidget* widget) {
    // Qt's own parts of a larger widget: the whole is checked instead.
    if (widget->objectName().startsWith("qt_") || qobject_cast<const QHeaderView*>(widget) ||
        qobject_cast<const QScrollBar*>(widget))
        return false;
    if (qobject_cast<const QTabBar*>(widget->parentWidget()) ||
        qobject_cast<const QLineEdit*>(widget->parentWidget()) ||
        qobject_cast<const QAbstractSpinBox*>(widget->parentWidget()))
        return false;
    if (qobject_cast<const QLineEdit*>(widget) && qobject_cast<const QComboBox*>(widget->parentWidget())) return false;
    return qobject_cast<const QAbstractButton*>(widget) || qobject_cast<const QAbstractSlider*>(widget) ||
           qobject_cast<const QAbstractSpinBox*>(widget) || qobject_cast<const QComboBox*>(widget) ||
           qobject_cast<const QLineEdit*>(widget) || qobject_cast<const QPlainTextEdit*>(widget) ||
           qobject_cast<const QAbstractItemView*>(widget) || qobject_cast<const QTabWidget*>(widget) ||
           (widget->focusPolicy() != Qt::NoFocus && widget->isVisible());
}

QString nameOf(QWidget* widget) {
    QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
    return face ? face->text(QAccessible::Name) : QString();
}

void checkNames(QWidget& root) {
    for (QWidget* widget : root.findChildren<QWidget*>()) {
        if (!isInteractive(widget) || widget->window() != root.window()) continue;
        INFO(widget->metaObject()->className() << " '" << widget->objectName().toStdString() << "' in "
                                               << widget->parentWidget()->metaObject()->className());
        CHECK_FALSE(nameOf(widget).isEmpty());
    }
}

} // namespace

TEST_CASE("lab: every action has a text, a tooltip and a shortcut of its own", "[lab]") {
    LabWindow lab;
    std::set<QString> seen;
    for (const QAction* action : namedActions(lab.window())) {
        INFO(action->objectName().toStdString());
        CHECK_FALSE(action->text().isEmpty());
        CHECK_FALSE(action->toolTip().isEmpty());
        REQUIRE_FALSE(action->shortcuts().isEmpty());
        for (const QKeySequence& keys : action->shortcuts()) CHECK(seen.insert(keys.toString()).second);
    }
    CHECK(seen.size() > 30);
}

TEST_CASE("lab: every action of the menus is reached by its keys", "[lab]") {
    clearRecentPaths(); // the model of another test would open, and it may not read text
    LabWindow lab;
    REQUIRE(lab.settle()); // a Stop would end loading
    std::set<std::string> disabled;
    for (QAction* action : namedActions(lab.window())) {
        if (action->objectName() == "quit") continue;
        if (!action->isEnabled()) {
            disabled.insert(action->objectName().remove(QRegularExpression("[0-9]$")).toStdString());
            continue;
        }
        for (const QKeySequence& keys : action->shortcuts()) {
            INFO(action->objectName().toStdString() << " by " << keys.toString().toStdString());
            lab.window().setFocus();
            QSignalSpy triggered(action, &QAction::triggered);
            QTest::keySequence(&lab.window(), keys);
            CHECK(triggered.count() == 1);
            if (action->objectName() == "weightStorage") // its dialog opens once the model's file has been read
                REQUIRE(lab.waitFor([&] { return lab.window().findChild<QDialog*>("storageDialog") != nullptr; }));
            if (QWidget* list = QApplication::activePopupWidget()) list->close(); // the list of jobs takes all keys
            closeDialogs(lab.window());
            lab.window().bridge().post(StopCommand{}); // Run has started something that disables Run
            REQUIRE(lab.settle());
            // A picture, from the start page: it writes nothing. After Undo, another model would end Redo.
            if (lab.window().workbench().reads(AxisKind::Patches) && action->objectName() != "undo") {
                lab.window().session().openModel("builtin:induction", {});
                REQUIRE(lab.settle());
            }
        }
        lab.act("resetLayout");
    }
    // What is off at first is reached in tests of its own. "Remove head" has made a change, which may be reset.
    CHECK(disabled == std::set<std::string>{"holdEdits", "recent", "showDifference", "stop"});
}

TEST_CASE("lab: quit by its keys closes the window", "[lab]") {
    LabWindow lab;
    lab.press(lab.action("quit"));
    CHECK_FALSE(lab.window().isVisible());
}

TEST_CASE("lab: every control of the window has an accessible name", "[lab]") {
    LabWindow lab;
    checkNames(lab.window());
}

TEST_CASE("lab: every control of every dialog has an accessible name", "[lab]") {
    LabWindow lab;
    for (const char* name : {"preferences", "lock", "shortcuts", "about"}) {
        lab.action(name).trigger();
        const auto dialogs = lab.window().findChildren<QDialog*>();
        REQUIRE(dialogs.size() == 1);
        checkNames(*dialogs.front());
        closeDialogs(lab.window());
    }
}

TEST_CASE("lab: the shortcut sheet lists every action with its keys", "[lab]") {
    LabWindow lab;
    lab.action("shortcuts").trigger();
    REQUIRE(lab.window().findChild<QDialog*>());
    const auto* list = lab.window().findChild<QDialog*>()->findChild<QAbstractItemView*>();
    std::set<QString> listed;
    for (int group = 0; group < list->model()->rowCount(); ++group) {
        const QModelIndex parent = list->model()->index(group, 0);
        for (int row = 0; row < list->model()->rowCount(parent); ++row)
            listed.insert(list->model()->index(row, 0, parent).data().toString());
    }
    for (const QAction* action : namedActions(lab.window()))
        if (action->isVisible()) CHECK(listed.count(QString(action->text()).remove('&')) == 1);
    CHECK(listed.count("Choose the previous or next head") == 1); // in a figure
}

TEST_CASE("lab: the key of a panel moves the focus into it", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("panel.heads");
    CHECK(lab.waitFor([&] { return lab.find<QWidget>("headsGrid").hasFocus(); }, 10'000));
}

TEST_CASE("lab: the finder opens actions, panels, parts, lessons and models by words of their names", "[lab]") {
    LabWindow lab;
    const auto find = [&](const char* words) {
        lab.press(lab.action("find"));
        auto& field = lab.find<QLineEdit>("finderWords");
        QTest::keyClicks(&field, words);
        REQUIRE(lab.find<QListWidget>("finderList").count() > 0);
        QTest::keyClick(&field, Qt::Key_Return);
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        REQUIRE(lab.settle());
    };
    find("lenses panel");
    CHECK(lab.find<QToolButton>("workspace.inspect").isChecked());
    find("alibi");
    CHECK(lab.find<QTabWidget>("playViews").currentIndex() == 3);
    CHECK(lab.find<QTreeWidget>("partList").currentItem()->text(0).contains("ALiBi", Qt::CaseInsensitive));
    find("sort model");
    CHECK(lab.snapshot().model->name == "sort");
    find("masks lesson");
    CHECK(lab.window().lessons().player().isPlaying());
}

TEST_CASE("lab: the finder lists the name that was typed first, and then names that begin with it", "[lab]") {
    LabWindow lab;
    lab.press(lab.action("find"));
    auto& field = lab.find<QLineEdit>("finderWords");
    QTest::keyClicks(&field, "train");
    const auto& list = lab.find<QListWidget>("finderList");
    REQUIRE(list.count() > 5);
    const auto entry = [&](int row) { return list.item(row)->text(); };
    CHECK(entry(0) == QStringLiteral("Train   ·   Panel"));
    CHECK(entry(1) == QStringLiteral("Train   ·   Workspace"));
    CHECK(entry(2) == QStringLiteral("Train or pause   ·   Action"));
    int last = 0; // 0: begins with the word, 1: with a longer one, 2: has such a word, 3: has it elsewhere
    for (int row = 0; row < list.count(); ++row) {
        INFO(entry(row).toStdString());
        const QString title = entry(row).section(QStringLiteral("   ·   "), 0, 0).toLower();
        const int rank = (title + ' ').startsWith("train ") ? 0
                         : title.startsWith("train")        ? 1
                         : title.contains(" train")         ? 2
                                                            : 3;
        CHECK(rank >= last);
        last = rank;
    }
    CHECK(last == 3);
    QTest::keyClick(&field, Qt::Key_Return);
    CHECK(lab.waitFor([&] { return !lab.find<QWidget>("train").visibleRegion().isEmpty(); }));
}

TEST_CASE("lab: the finder knows help, controls, other words and what words mean", "[lab]") {
    LabWindow lab;
    lab.window().workbench().setSampling({.greedy = false}); // a hidden control cannot be found
    lab.press(lab.action("find"));
    auto& field = lab.find<QLineEdit>("finderWords");
    const auto& list = lab.find<QListWidget>("finderList");
    const auto found = [&](const char* words) {
        field.setText(words);
        QStringList rows;
        for (int row = 0; row < list.count(); ++row) rows << list.item(row)->text();
        return rows;
    };
    CHECK(found("bigger text").front().startsWith("Larger text"));
    CHECK(found("font").filter("Larger text").size() == 1);
    CHECK(found("ALiBi").filter("Part of attention").front().contains("\n")); // with its idea
    CHECK(found("initial weights").filter("Rule for initial weights").size() ==
          static_cast<qsizetype>(initialisations().size()));
    CHECK(found("night").front().startsWith("Dark"));
    CHECK(found("delete head").front().startsWith("Remove head   ·   Action"));
    CHECK(found("ablate head").front().startsWith("Remove head   ·   Action"));
    for (const char* words : {"translate", "translation"}) {
        const QStringList rows = found(words);
        for (const char* wanted : {"numbers-de   ·   Model", "Translation: who looks at whom   ·   Lesson",
                                   "Train on: Translate numbers   ·   Task"})
            CHECK(std::ranges::any_of(rows, [&](const QString& row) { return row.startsWith(wanted); }));
    }
    CHECK(found("fewer bits").mid(0, 2).filter("Weights in fewer bits   ·   Lens").size() == 1);
    CHECK(found("quantise").filter("Quantise weights…   ·   Action").size() == 1);
    for (const LensPage& lens : lensPages())
        CHECK(found(lens.title).mid(0, 2).filter(QString(lens.title) + "   ·   Lens").size() == 1);
    CHECK(found("what is a head?").front().startsWith("Head   ·   Word\nOne of the parts"));
    CHECK(found("photo").front().startsWith("Picture   ·   Word"));
    CHECK(found("xyzzy") == QStringList(QString::fromUtf8("Nothing found for “xyzzy”. Try another word.")));
    QTest::keyClick(&field, Qt::Key_Return);
    CHECK(field.isVisible());
    const QStringList rows = found("temperature");
    CHECK(rows.front().startsWith("Temperature   ·   Word"));
    const auto slider = std::ranges::find_if(
        rows, [](const QString& row) { return row.startsWith("Temperature   ·   Control in Next token"); });
    REQUIRE(slider != rows.end());
    for (auto row = rows.begin(); row != slider; ++row) QTest::keyClick(&field, Qt::Key_Down);
    QTest::keyClick(&field, Qt::Key_Return);
    CHECK(lab.waitFor([&] {
        const QWidget* focus = QApplication::focusWidget();
        return focus && focus->accessibleName() == "Temperature" && !focus->visibleRegion().isEmpty();
    }));
}

TEST_CASE("lab: the finder opens a lens in its panel", "[lab]") {
    LabWindow lab;
    choose(lab, "fewer bits", "Weights in fewer bits   ·   Lens");
    const auto& page = lab.find<QComboBox>("lensPage");
    REQUIRE(lab.waitFor([&] { return !page.visibleRegion().isEmpty(); }));
    CHECK(page.currentData() == "storage");
}

TEST_CASE("lab: the finder opens the card of a rule for initial weights", "[lab]") {
    LabWindow lab;
    for (const Initialisation& rule : initialisations()) {
        const auto title = QString::fromUtf8(rule.title.data(), static_cast<qsizetype>(rule.title.size()));
        INFO(rule.title);
        choose(lab, title, title + "   ·   Rule for initial weights");
        const auto& text = lab.find<QLabel>("partText");
        CHECK(lab.waitFor([&] { return !text.visibleRegion().isEmpty(); }));
        CHECK(text.text().contains(title.toHtmlEscaped()));
        CHECK(lab.find<QTreeWidget>("partList").currentItem()->text(0) == title);
    }
}

TEST_CASE("lab: one action removes the selected head and brings it back", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const auto& bench = lab.window().workbench();
    lab.window().workbench().selectHead(1, 1);
    lab.act("removeHead");
    CHECK(bench.changes() == Changes{.gates = {{{1, 1}, 0}}});
    CHECK(lab.action("removeHead").isChecked());
    lab.window().workbench().selectHead(0, 0);
    CHECK_FALSE(lab.action("removeHead").isChecked());
    lab.window().workbench().selectHead(1, 1);
    lab.act("removeHead");
    CHECK(bench.changes().empty());
}

TEST_CASE("lab: an entry of a menu that shows something else has a tick while it does", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.closeGate(1, 1, 0);
    REQUIRE(lab.settle());
    const auto ticks = [&] {
        return std::pair(lab.action("holdEdits").isChecked(), lab.action("showDifference").isChecked());
    };
    CHECK(ticks() == std::pair(false, false));
    lab.act("holdEdits");
    CHECK(ticks() == std::pair(true, false));
    lab.act("showDifference");
    CHECK(ticks() == std::pair(false, true));
    lab.act("showDifference");
    CHECK(ticks() == std::pair(false, false));
    lab.action("fullScreen").trigger();
    CHECK(lab.action("fullScreen").isChecked() == lab.window().isFullScreen());
    lab.action("fullScreen").trigger();
    CHECK_FALSE(lab.action("fullScreen").isChecked());
}

TEST_CASE("lab: a note explains the control under the pointer", "[lab]") {
    LabWindow lab;
    auto& run = lab.find<QPushButton>("run");
    QCursor::setPos(run.mapToGlobal(run.rect().center()));
    REQUIRE(lab.waitFor([&] { return QApplication::widgetAt(QCursor::pos()) == &run; }, 5'000));
    lab.press(lab.action("whatIsThis"));
    const auto note = [] {
        for (const QWidget* widget : QApplication::topLevelWidgets())
            if (widget->isVisible() && widget->inherits("QWhatsThat")) return true;
        return false;
    };
    CHECK(lab.waitFor(note, 5'000));
    CHECK_FALSE(lab.window().findChild<QDialog*>());
    QWhatsThis::hideText();
}
