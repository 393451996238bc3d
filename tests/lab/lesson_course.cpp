#include "app/lab/lessons/average_exercise.h"
#include "app/lab/lessons/lesson_panel.h"
#include "tests/lab/playground_test.h"
#include "tests/lab/student.h"

// What a lesson locks, keeps and gives back, and how it is left and continued.

using namespace attn;

TEST_CASE("lessons: what is not allowed is locked, and all of it until the prediction is made", "[lab][lessons]") {
    Student lab;
    lab.start(4);
    REQUIRE(lab.waitFor([&] { return lab.player().isReady(); }, kPatienceMs));
    CHECK_FALSE(lab.action("openFolder").isEnabled());
    CHECK_FALSE(lab.action("run").isEnabled());
    CHECK_FALSE(lab.find<QSpinBox>("attentionLayer").isEnabled());
    lab.answer();
    CHECK(lab.find<QSpinBox>("attentionLayer").isEnabled());
    CHECK_FALSE(lab.find<QSlider>("gate").isEnabled());
    CHECK_FALSE(lab.action("run").isEnabled());
}

TEST_CASE("lessons: a panel that was closed in a lesson comes back with the control or the arrangement",
          "[lab][lessons]") {
    Student lab;
    lab.start(2);
    REQUIRE(lab.waitFor([&] { return lab.player().isReady(); }, kPatienceMs));
    lab.answer();
    auto& dock = lab.find<QDockWidget>("dock.playground");
    REQUIRE(dock.isVisible());
    dock.close();
    REQUIRE_FALSE(dock.isVisible());
    lab.find<QPushButton>("lessonShow").click();
    lab.layOut();
    CHECK(dock.isVisible());
    dock.close();
    lab.act("resetLayout");
    CHECK(dock.isVisible());
    CHECK(lab.find<QDockWidget>("dock.lessons").isVisible());
    CHECK(lab.player().isPlaying());
}

TEST_CASE("lessons: another workspace says that a lesson runs, and Learn brings its panels back", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.start(4);
    lab.answer();
    auto& attention = lab.find<QDockWidget>("dock.attention");
    const auto isBack = [&] {
        return attention.isVisible() && lab.find<QWidget>("lessonStep").isVisible() &&
               lab.find<QDockWidget>("dock.start").isHidden() && !lab.find<QWidget>("offerBanner").isVisible();
    };
    const QJsonObject view = lab.window().panels().view("attention");
    for (const bool isByBanner : {false, true}) {
        lab.press(lab.action("workspace.inspect"));
        REQUIRE(lab.find<QWidget>("offerBanner").isVisible());
        const auto choices = banner(lab, "offerBanner").findChildren<QToolButton*>();
        const auto back = std::ranges::find(choices, "Back to the lesson", &QToolButton::text);
        REQUIRE(back != choices.end());
        isByBanner ? (*back)->click() : lab.press(lab.action("workspace.learn"));
        CHECK(lab.waitFor(isBack));
        CHECK(lab.window().panels().view("attention") == view);
    }
    lab.press(lab.action("workspace.write"));
    lab.window().lessons().player().leave();
    REQUIRE(lab.waitFor([&] { return !lab.player().before(); }, kPatienceMs));
    CHECK_FALSE(lab.find<QWidget>("offerBanner").isVisible());
    lab.press(lab.action("start"));
    CHECK(lab.find<QDockWidget>("dock.start").isVisible());
}

TEST_CASE("lessons: leaving gives back model, prompt, branches, sampling, gates, locks and layout", "[lab][lessons]") {
    Student lab("builtin:induction", "abcabc");
    lab.act("step");
    lab.window().workbench().setSampling({.greedy = false, .temperature = 0.5f});
    lab.closeGate(1, 1, 0.25f);
    lab.window().locks().setOwn({{"export", ControlState::Locked}});
    lab.window().workbench().selectHead(1, 0);
    lab.window().workbench().selectRow(4);
    lab.window().workbench().selectCell(Cell{6, 4}); // of the written token
    lab.action("attentionCellLevel").trigger();
    REQUIRE(lab.settle());
    const SessionDocument before = lab.window().session().document();
    REQUIRE(before.view["attention"].toObject()["level"] == "cell");
    for (const int lesson : {4, 5}) { // of the same model, and of another
        lab.start(lesson);
        lab.answer();
        CHECK(lab.find<QDockWidget>("dock.lessons").isVisible());
        CHECK_FALSE(lab.find<QDockWidget>("dock.train").isVisible());
        lab.click("lessonLeave");
        REQUIRE(lab.waitFor([&] { return !lab.window().session().isRestoring(); }, kPatienceMs));
        REQUIRE(lab.settle());
        const SessionDocument after = lab.window().session().document();
        CHECK(after.modelPath == before.modelPath);
        CHECK(after.given.text == before.given.text);
        CHECK(after.branches == before.branches);
        CHECK(after.current == before.current);
        CHECK(after.sampling == before.sampling);
        CHECK(after.locks == before.locks);
        for (const QString& panel : before.view.keys()) {
            INFO(panel.toStdString());
            const auto text = [&](const SessionDocument& document) {
                QJsonObject view = document.view[panel].toObject();
                if (panel == "attention") view.remove("level"); // each workspace has its own
                return QJsonDocument(view).toJson(QJsonDocument::Compact).toStdString();
            };
            CHECK(text(after) == text(before));
        }
        CHECK(lab.snapshot().changes->gate(1, 1) == Approx(0.25f));
        CHECK(lab.find<QDockWidget>("dock.start").isVisibleTo(&lab.window()));
        CHECK_FALSE(lab.action("exportPng").isEnabled());
        CHECK(lab.action("run").isEnabled());
        lab.press(lab.action(("workspace." + before.workspace).toUtf8().constData()));
        CHECK(lab.waitFor([&] { return lab.window().panels().view("attention")["level"] == "cell"; }));
        CHECK(lab.window().workbench().selection().cell == Cell{6, 4});
    }
}

TEST_CASE("lessons: what was done before a lesson can be undone after it, but nothing of the lesson",
          "[lab][lessons]") {
    Student lab("builtin:induction", "abcabc");
    Workbench& bench = lab.window().workbench();
    bench.setGate(1, 1, 0.25f);
    REQUIRE(lab.settle());
    for (const int lesson : {4, 5}) { // of the same model, and of another
        lab.start(lesson);
        lab.answer();
        bench.setGate(0, 0, 0.5f);
        lab.click("lessonLeave");
        REQUIRE(lab.waitFor([&] { return !lab.player().before(); }, kPatienceMs));
        REQUIRE(lab.settle());
        CHECK(bench.changes().gate(1, 1) == Approx(0.25f));
        lab.act("undo");
        CHECK(bench.changes().gate(1, 1) == Approx(1.0f));
        CHECK_FALSE(lab.action("undo").isEnabled());
        lab.act("redo");
        CHECK(bench.changes().gate(1, 1) == Approx(0.25f));
    }
}

TEST_CASE("lessons: the place is remembered, and the list continues there", "[lab][lessons]") {
    Student lab;
    lab.start(0);
    lab.answer();
    lab.weights("0.5", "0.5", "0");
    lab.goOn();
    REQUIRE(lab.player().step() == 1);
    lab.click("lessonLeave");
    CHECK(LessonProgress::load("01-weighted-average") == LessonProgress{.isDone = false, .step = 1});
    CHECK(unfinishedLesson() == "01-weighted-average");
    CHECK(lab.find<QPushButton>("lessonStart").text().remove('&') == "Continue at step 2");
    lab.click("lessonStart");
    CHECK(lab.player().step() == 1);
    lab.click("lessonBack");
    CHECK(lab.player().step() == 0);
    lab.click("lessonLeave");
    lab.click("lessonForget");
    CHECK(unfinishedLesson().isEmpty());
    CHECK(lab.find<QPushButton>("lessonStart").text().remove('&') == "Start");
}

TEST_CASE("lessons: the keyboard alone takes a step, and Esc leaves", "[lab][lessons]") {
    Student lab;
    const auto focus = [] { return QApplication::focusWidget(); };
    lab.press(lab.action("lessons"));
    REQUIRE(focus() == &lab.find<QListWidget>("lessonList"));
    QTest::keyClick(focus(), Qt::Key_Home);
    QTest::keyClick(focus(), Qt::Key_Return);
    REQUIRE(lab.player().isPlaying());
    QTest::keyClick(focus(), Qt::Key_2);
    REQUIRE(lab.player().isAnswered());
    QTest::keyClick(focus(), Qt::Key_Return); // not done yet
    CHECK(lab.player().step() == 0);
    QTest::keyClick(focus(), Qt::Key_I, Qt::AltModifier);
    REQUIRE(lab.waitFor([&] { return lab.find<AverageExercise>("average").isAncestorOf(focus()); }));
    for (int i = 0; i < 10; ++i) QTest::keyClick(focus(), Qt::Key_Left); // the slider of the first weight
    QTest::keyClick(focus(), Qt::Key_Tab);
    QTest::keyClick(focus(), Qt::Key_Tab);
    for (int i = 0; i < 10; ++i) QTest::keyClick(focus(), Qt::Key_Right);
    REQUIRE(lab.waitFor([&] { return lab.player().progress().isDone; }));
    QTest::keyClick(focus(), Qt::Key_N, Qt::AltModifier);
    REQUIRE(lab.waitFor([&] { return lab.player().step() == 1; }));
    lab.find<QWidget>("lessonStep").setFocus();
    QTest::keyClick(focus(), Qt::Key_Escape);
    CHECK_FALSE(lab.player().isPlaying());
}

TEST_CASE("lessons: Esc closes a cell before it leaves", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.start(1); // its first step shows a cell
    lab.answer();
    lab.clickTarget();
    REQUIRE(lab.waitFor([&] { return lab.player().progress().isDone; }));
    if (lab.window().panels().view("attention")["level"] != "cell") lab.act("attentionCellLevel");
    REQUIRE(lab.window().panels().view("attention")["level"] == "cell");
    auto& step = lab.find<QWidget>("lessonStep");
    step.setFocus();
    QTest::keyClick(&step, Qt::Key_Escape);
    CHECK(lab.window().panels().view("attention")["level"] == "head");
    REQUIRE(lab.player().isPlaying());
    QTest::keyClick(&step, Qt::Key_Escape);
    CHECK_FALSE(lab.player().isPlaying());
}

TEST_CASE("lessons: the next step has the keyboard: its field, or the keys of its choices", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.start(2); // the second step asks for a number
    lab.answer();
    type(lab.find<QLineEdit>("maskText"), "causal");
    lab.goOn();
    REQUIRE(lab.player().step() == 1);
    REQUIRE(lab.step().prediction->number);
    CHECK(lab.find<QDoubleSpinBox>("lessonNumber").hasFocus());
    QTest::keyClicks(QApplication::focusWidget(), "6");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    CHECK(lab.player().progress().number == 6);
    type(lab.find<QLineEdit>("maskText"), "causal & window(3)");
    lab.goOn();
    REQUIRE(lab.player().step() == 2);
    REQUIRE(lab.waitFor([&] { return lab.player().isReady(); }, kPatienceMs));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_2);
    CHECK(lab.player().progress().choice == 1);
}

TEST_CASE("lessons: a number may be a fraction", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.start(2);
    lab.answer();
    type(lab.find<QLineEdit>("maskText"), "causal");
    lab.goOn();
    REQUIRE(lab.step().prediction->number);
    QTest::keyClicks(QApplication::focusWidget(), "12/");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    CHECK_FALSE(lab.player().isAnswered()); // it is not whole
    QTest::keyClicks(QApplication::focusWidget(), "2");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    CHECK(lab.player().progress().number == 6);
}

TEST_CASE("lessons: the training that one interrupts continues after it", "[lab][lessons]") {
    Student lab("builtin:sort", "3 1 2 =");
    lab.window().workbench().setSampling({.greedy = false, .temperature = 2});
    lab.showPanel("train");
    lab.press(lab.action("trainPlay"));
    const auto state = [&] { return lab.window().workbench().training().snapshot()->state; };
    REQUIRE(lab.waitFor([&] { return state() == TrainingSnapshot::State::Training; }, kPatienceMs));
    lab.start(2);
    REQUIRE(lab.waitFor([&] { return state() == TrainingSnapshot::State::Paused; }, kPatienceMs));
    CHECK(lab.window().workbench().sampling() == Sampling{}); // its numbers hold at temperature 1
    lab.click("lessonLeave");
    REQUIRE(lab.waitFor([&] { return state() == TrainingSnapshot::State::Training; }, kPatienceMs));
    CHECK(lab.window().workbench().training().isFollowing());
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return state() == TrainingSnapshot::State::Paused; }, kPatienceMs));
}

TEST_CASE("lessons: one begun while another is given back waits for that", "[lab][lessons]") {
    Student lab("builtin:sort", "3 1 2 =");
    const std::string prompt = lab.snapshot().sequence->given.text;
    lab.start(4); // of another model
    lab.answer();
    lab.click("lessonLeave");
    REQUIRE(lab.window().session().isRestoring());
    lab.click("lessonStart");
    REQUIRE(lab.waitFor([&] { return lab.player().isPlaying(); }, kPatienceMs));
    CHECK(lab.player().before()->modelPath == "builtin:sort");
    lab.answer();
    lab.click("lessonLeave");
    REQUIRE(lab.waitFor([&] { return !lab.player().before(); }, kPatienceMs));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->name == "sort");
    CHECK(lab.snapshot().sequence->given.text == prompt);
}

TEST_CASE("lessons: the window closed in the middle of one opens the next time as it was before", "[lab][lessons]") {
    Student lab;
    lab.start(1);
    CHECK(lab.find<QDockWidget>("dock.start").isHidden());
    lab.window().close();
    const MainWindow next({.preferences = Preferences{}, .device = {}});
    CHECK(next.findChild<QToolButton*>("workspace.learn")->isChecked());
    CHECK(next.findChild<QDockWidget*>("dock.start")->isVisibleTo(&next));
}

TEST_CASE("lessons: a lesson that was open when the window closed continues at its step", "[lab][lessons]") {
    Student lab; // an application
    QTemporaryDir folder;
    const auto open = [&] {
        auto window = std::make_unique<MainWindow>(MainWindow::Setup{
            .preferences = Preferences{}, .device = {}, .autosaveFolder = folder.path(), .greets = true});
        window->show();
        REQUIRE(lab.waitFor([&] { return window->workbench().snapshot() && window->workbench().snapshot()->grid; }));
        return window;
    };
    auto window = open();
    REQUIRE_FALSE(window->lessons().player().isPlaying());
    window->bridge().post(SetPromptCommand{GivenText{.text = "abcabc"}});
    window->bridge().post(GenerateCommand{.maxTokens = 2});
    REQUIRE(lab.waitFor([&] { return window->workbench().snapshot()->sequence->tokens.size() == 8; }));
    const auto start = [&](int step) {
        window->findChild<LessonPanel*>()->start(window->findChild<LessonPanel*>()->lessons()[4], step);
        REQUIRE(lab.waitFor([&] { return window->lessons().player().isReady(); }, kPatienceMs));
    };
    start(2);
    window->close();
    window.reset();
    window = open();
    REQUIRE(lab.waitFor([&] { return window->lessons().player().isPlaying(); }, kPatienceMs));
    CHECK(window->lessons().player().lesson().id == window->findChild<LessonPanel*>()->lessons()[4].id);
    CHECK(window->lessons().player().step() == 2);
    CHECK(window->findChild<QWidget*>("lessonStep")->isVisible());
    REQUIRE(lab.waitFor([&] { return window->lessons().player().isReady(); }, kPatienceMs));
    // Leaving it gives back what was open before, with the text that was written.
    window->lessons().player().leave();
    REQUIRE(lab.waitFor([&] { return !window->lessons().player().before(); }, kPatienceMs));
    CHECK(lab.waitFor([&] { return window->workbench().snapshot()->sequence->tokens.size() == 8; }, kPatienceMs));
    CHECK(window->workbench().snapshot()->sequence->given.text == "abcabc");
    // A lesson that was left opens no more.
    window->close();
    window.reset();
    window = open();
    REQUIRE(window->bridge().waitIdle());
    QTest::qWait(100);
    CHECK_FALSE(window->lessons().player().isPlaying());
}

TEST_CASE("lessons: after the answer the right option is marked, and nothing above it moves", "[lab][lessons]") {
    Student lab;
    lab.start(2);
    REQUIRE(lab.waitFor([&] { return lab.player().isReady(); }, kPatienceMs));
    lab.layOut();
    const auto rightOnes = [&] {
        int count = 0;
        for (auto* button : lab.window().findChildren<QPushButton*>())
            if (button->property("choice").toBool() && !button->isHidden() && button->property("right").toBool())
                ++count;
        return count;
    };
    CHECK(rightOnes() == 0);
    const QPoint before = lab.find<QPushButton>("lessonChoice0").pos();
    lab.click("lessonChoice0"); // "a model only looks back": wrong
    lab.layOut();
    CHECK(lab.find<QPushButton>("lessonChoice0").pos() == before);
    CHECK(rightOnes() == 1);
    CHECK(lab.find<QPushButton>("lessonChoice1").property("right").toBool());
    CHECK(lab.find<QPushButton>("lessonChoice0").accessibleDescription() == "not the right answer");
    CHECK(lab.find<QPushButton>("lessonShow").isVisible());
}
