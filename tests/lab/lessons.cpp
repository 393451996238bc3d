#include "app/lab/lessons/average_exercise.h"
#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/inference/language_model.h"
#include "tests/lab/playground_test.h"

using namespace attn;

namespace {

constexpr int kPatienceMs = 180'000; ///< software Vulkan beside other work, under a sanitizer too

/// A student: answers, does what the step asks for with the real control, and goes on.
class Student : public LabWindow {
public:
    using LabWindow::LabWindow;

    LessonPlayer& player() { return window().lessons(); }
    const LessonStep& step() { return player().currentStep(); }

    void start(int lesson) {
        press(action("lessons"));
        auto& list = find<QListWidget>("lessonList");
        QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualItemRect(list.item(lesson)).center());
        click("lessonStart");
        REQUIRE(player().isPlaying());
    }

    void answer() {
        REQUIRE(waitFor([&] { return player().isReady(); }, kPatienceMs));
        REQUIRE(settle());
        CHECK_FALSE(find<QPushButton>("lessonNext").isEnabled());
        CHECK_FALSE(find<QLabel>("lessonOutcome").isVisible());
        CHECK_FALSE(find<QLabel>("lessonTask").isVisible());
        const LessonPrediction& asked = *step().prediction;
        if (asked.number) {
            write(find<QDoubleSpinBox>("lessonNumber"), QString::number(asked.number->answer, 'f', 2));
            click("lessonAnswer");
        } else {
            const auto right = std::ranges::find(asked.choices, true, &LessonChoice::isRight) - asked.choices.begin();
            click(("lessonChoice" + std::to_string(right)).c_str());
        }
        REQUIRE(player().isAnswered());
        CHECK(player().progress().isRight);
        CHECK(find<QLabel>("lessonTask").isVisible());
        REQUIRE(waitFor([&] { return player().isReady(); }, kPatienceMs));
        REQUIRE(settle());
        if (step().pointAt.isEmpty()) return;
        REQUIRE(player().target());
        CHECK(player().target()->isEnabled());
        CHECK(waitFor([&] { return find<QWidget>("lessonPointer").isVisible(); }));
    }
    void goOn() {
        INFO(player().lesson().id.toStdString() << ", step " << player().step() + 1);
        REQUIRE(waitFor([&] { return find<QPushButton>("lessonNext").isEnabled(); }, kPatienceMs));
        CHECK(find<QLabel>("lessonOutcome").isVisible());
        click("lessonNext");
    }
    /// @param acts what to do in each step
    void take(int lesson, const std::vector<std::function<void()>>& acts) {
        start(lesson);
        const QString id = player().lesson().id;
        REQUIRE(player().lesson().steps.size() == acts.size());
        for (const auto& act : acts) {
            INFO(id.toStdString() << ", step " << player().step() + 1);
            answer();
            act();
            goOn();
        }
        CHECK_FALSE(player().isPlaying());
        CHECK(LessonProgress::load(id).isDone);
        REQUIRE(waitFor([&] { return !window().isRestoring() && !player().before(); }, kPatienceMs));
        REQUIRE(settle());
        auto& list = find<QListWidget>("lessonList");
        CHECK(list.item(lesson)->text().startsWith(QStringLiteral("✓")));
        CHECK(list.currentRow() == std::min(lesson + 1, list.count() - 1));
        for (const char* freed : {"openFolder", "run", "trainPlay", "exportPng", "panel.playground"})
            CHECK(action(freed).isEnabled());
        CHECK_FALSE(find<QWidget>("lessonPointer").isVisible());
        CHECK(snapshot().model->name == "induction");
        CHECK(snapshot().sequence->prompt == "abab");
    }

    void write(QAbstractSpinBox& box, const QString& text) {
        box.setFocus();
        box.selectAll();
        QTest::keyClicks(&box, text);
        QTest::keyClick(&box, Qt::Key_Tab);
    }
    void choose(const char* combo, const char* part) {
        auto& choice = find<QComboBox>(combo);
        choice.setFocus();
        QTest::keyClick(&choice, Qt::Key_Home);
        while (choice.currentData().toString() != QLatin1String(part) && choice.currentIndex() + 1 < choice.count())
            QTest::keyClick(&choice, Qt::Key_Down);
        REQUIRE(choice.currentData().toString() == QLatin1String(part));
    }
    void writePrompt(const char* text) {
        auto& prompt = find<QPlainTextEdit>("prompt");
        prompt.setFocus();
        QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(&prompt, text);
    }
    void clickHead(int layer, int head) {
        auto& grid = find<HeadsGrid>("headsGrid");
        QTest::mouseClick(grid.viewport(), Qt::LeftButton, {}, grid.cellRect(layer, head).center());
    }
    void clickCell(int query, int key) {
        auto& heatmap = find<HeatmapView>("attentionHeatmap");
        REQUIRE(waitFor([&] { return heatmap.figure().keyCount > key; }));
        QTest::mouseClick(&heatmap, Qt::LeftButton, {},
                          heatmap.figureLayout().cellRect({query, key}).center().toPoint());
    }
    void shutGate(int layer, int head) {
        clickHead(layer, head);
        auto& gate = find<QSlider>("gate");
        gate.setFocus();
        QTest::keyClick(&gate, Qt::Key_Home);
    }
    void weights(const char* first, const char* second, const char* third) {
        write(find<QDoubleSpinBox>("averageWeight0"), first);
        write(find<QDoubleSpinBox>("averageWeight1"), second);
        write(find<QDoubleSpinBox>("averageWeight2"), third);
    }
    /// Writes into the control that the step points at.
    void writeTarget(const QString& text) {
        auto* box = qobject_cast<QAbstractSpinBox*>(player().target());
        REQUIRE(box);
        write(*box, text);
    }
    void clickTarget() { QTest::mouseClick(player().target(), Qt::LeftButton); }
};

} // namespace

TEST_CASE("lessons: 1, the weighted average, is done by hand", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.take(0, {[&] { lab.weights("0.5", "0.5", "0"); }, [&] { lab.weights("0.25", "0.25", "0.5"); },
                 [&] { lab.weights("0", "0", "1"); }, [&] { lab.clickTarget(); }});
}

TEST_CASE("lessons: 2, queries, keys and values, is done in the cell and the playground", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.take(1, {[&] { lab.clickTarget(); }, [&] { lab.writeTarget("64"); },
                 [&] { lab.choose("slot.score", "scaled_dot"); }});
}

TEST_CASE("lessons: 3, masks, is done in the line of the mask and by the brush", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    const auto mask = [&](const char* text) { type(lab.find<QLineEdit>("maskText"), text); };
    lab.take(
        2,
        {[&] { mask("causal"); }, [&] { mask("causal & window(3)"); }, [&] { mask("full"); },
         [&] {
             auto& canvas = lab.find<MatrixView>("maskCanvas");
             REQUIRE(lab.waitFor([&] { return canvas.figure().rows() == 16 && canvas.width() > 100; }));
             CHECK(canvas.figureLayout().rowLabels > 0); // else row 3 is hard to find
             CHECK(canvas.figureLayout().columnLabels > 0);
             QTest::mouseClick(&canvas, Qt::LeftButton, {}, canvas.figureLayout().cellRect({3, 10}).center().toPoint());
         }});
}

TEST_CASE("lessons: 4, position, is done in the prompt and the position slot", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    const auto shuffle = [&] { lab.writePrompt("Tom saw a red big dog."); };
    lab.take(3, {shuffle, shuffle, [&] { lab.choose("slot.position", "sinusoidal"); },
                 [&] { lab.choose("slot.position", "rope"); }, [&] { lab.choose("slot.position", "alibi"); }});
}

TEST_CASE("lessons: 5, many heads, is done with the grid and the gate", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    const auto likeliest = [&] {
        return lab.find<QTreeView>("candidates").model()->index(0, 0).data().toString().trimmed();
    };
    lab.take(4, {[&] { lab.clickHead(1, 0); }, [&] { lab.clickHead(0, 0); },
                 [&] {
                     CHECK(likeliest() == "d");
                     const float before = rankCandidates(lab.snapshot().next->logits, {}, {}, 1)[0].probability;
                     lab.shutGate(1, 0);
                     REQUIRE(lab.settle());
                     CHECK(rankCandidates(lab.snapshot().next->logits, {}, {}, 1)[0].probability < before / 2);
                 },
                 [&] {
                     CHECK(likeliest() == "h");
                     lab.shutGate(1, 1);
                     REQUIRE(lab.settle());
                     CHECK(likeliest() == "h");
                 },
                 [&] {
                     lab.shutGate(1, 0);
                     REQUIRE(lab.settle());
                     CHECK(likeliest() != "h");
                 }});
}

TEST_CASE("lessons: 6, writing, is done with the sampling, the text and the list of tokens", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.take(5, {[&] { lab.writeTarget("2"); }, [&] { lab.writeTarget("5"); }, [&] { lab.writeTarget("0.5"); },
                 [&] {
                     for (int i = 0; i < 3; ++i) {
                         lab.click("step");
                         REQUIRE(lab.settle());
                     }
                     auto& text = lab.find<GeneratedText>("text");
                     QTest::mouseClick(text.viewport(), Qt::LeftButton, {}, text.tokenRect(text.count() - 3).center());
                     REQUIRE(lab.settle());
                     auto& list = lab.find<QTreeView>("candidates");
                     QTest::mouseClick(list.viewport(), Qt::LeftButton, {},
                                       list.visualRect(list.model()->index(2, 0)).center());
                     REQUIRE(lab.settle());
                     lab.click("step");
                 }});
}

TEST_CASE("lessons: 7, training, is done with Step, Train and the timeline", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    lab.take(6, {[&] { lab.click("trainStep"); },
                 [&] {
                     CHECK_FALSE(lab.find<QLabel>("trainHint").isVisible()); // it tells the answer
                     lab.click("train.play");
                 },
                 [&] {
                     auto& timeline = lab.find<QSlider>("timeline");
                     REQUIRE(lab.waitFor([&] { return timeline.isEnabled(); }, kPatienceMs));
                     timeline.setFocus();
                     QTest::keyClick(&timeline, Qt::Key_Home);
                 }});
}

TEST_CASE("lessons: 8, the gap, is done in the prompt, in a cell and at the gate", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    const auto likeliest = [&] {
        return lab.find<QTreeView>("candidates").model()->index(0, 0).data().toString().trimmed().toStdString();
    };
    lab.take(7, {[&] {
                     CHECK(likeliest() == "␣girl");
                     const QString own = lab.window().findChild<GeneratePanel*>()->typed();
                     lab.writePrompt("There was a clever [MASK] named Omar.");
                     CHECK(lab.window().findChild<GeneratePanel*>()->typed() == own); // for the next start
                     REQUIRE(lab.waitFor([&] { return likeliest() == "␣boy"; }));
                 },
                 [&] { lab.clickCell(5, 6); },
                 [&] {
                     CHECK(likeliest() == "␣boy");
                     lab.shutGate(0, 1);
                     REQUIRE(lab.waitFor([&] { return likeliest() == "␣girl"; }));
                 }});
}

TEST_CASE("lessons: 9, translation, is done with Run, in a cell and in the prompt", "[lab][lessons]") {
    Student lab("builtin:induction", "abab");
    const auto write = [&](const char* german) {
        lab.click("run");
        REQUIRE(lab.settle());
        CHECK(lab.snapshot().sequence->text.find(german) != std::string::npos);
    };
    lab.take(8, {[&] { write("dreihunderteinundzwanzig"); },
                 [&] {
                     write("dreihunderteinundzwanzig");
                     lab.clickCell(2, 4);
                 },
                 [&] {
                     lab.writePrompt("forty-six thousand nine hundred eighty-five");
                     REQUIRE(lab.settle());
                     write("sechsundvierzigtausendneunhundertfünfundachtzig");
                 }});
}

TEST_CASE("lessons: each step asks before it shows, and points at what is there", "[lab][lessons]") {
    LabWindow lab;
    const auto& lessons = lab.window().findChild<LessonPanel*>()->lessons();
    CHECK(lessons.size() == 9);
    for (const Lesson& lesson : lessons) {
        CHECK_FALSE(checkControls(lesson, lab.window()));
        for (const LessonStep& step : lesson.steps) {
            INFO(lesson.id.toStdString() << ": " << step.title.toStdString());
            CHECK(step.prediction);
            CHECK_FALSE(step.doneWhen.empty());
            CHECK_FALSE(step.outcome.isEmpty());
        }
    }
}

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
    const QJsonObject view = lab.window().view("attention");
    for (const bool isByBanner : {false, true}) {
        lab.press(lab.action("workspace.inspect"));
        REQUIRE(lab.find<QWidget>("offerBanner").isVisible());
        const auto choices = banner(lab, "offerBanner").findChildren<QToolButton*>();
        const auto back = std::ranges::find(choices, "Back to the lesson", &QToolButton::text);
        REQUIRE(back != choices.end());
        isByBanner ? (*back)->click() : lab.press(lab.action("workspace.learn"));
        CHECK(lab.waitFor(isBack));
        CHECK(lab.window().view("attention") == view);
    }
    lab.press(lab.action("workspace.write"));
    lab.window().lessons().leave();
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
    lab.window().setLocks({{"export", ControlState::Locked}});
    lab.window().workbench().selectHead(1, 0);
    lab.window().workbench().selectRow(4);
    lab.window().workbench().selectCell(Cell{6, 4}); // of the written token
    lab.action("attentionCellLevel").trigger();
    REQUIRE(lab.settle());
    const SessionDocument before = lab.window().document();
    REQUIRE(before.view["attention"].toObject()["level"] == "cell");
    for (const int lesson : {4, 5}) { // of the same model, and of another
        lab.start(lesson);
        lab.answer();
        CHECK(lab.find<QDockWidget>("dock.lessons").isVisible());
        CHECK_FALSE(lab.find<QDockWidget>("dock.train").isVisible());
        lab.click("lessonLeave");
        REQUIRE(lab.waitFor([&] { return !lab.window().isRestoring(); }, kPatienceMs));
        REQUIRE(lab.settle());
        const SessionDocument after = lab.window().document();
        CHECK(after.modelPath == before.modelPath);
        CHECK(after.prompt == before.prompt);
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
        CHECK(lab.waitFor([&] { return lab.window().view("attention")["level"] == "cell"; }));
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

TEST_CASE("lessons: the place is remembered, and the list goes on there", "[lab][lessons]") {
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

TEST_CASE("lessons: 9, translation, shows a head that goes back to the left as often as it says", "[lessons]") {
    LanguageModel model(openModelSource("builtin:numbers-de"), {.device = {.softwareThreads = 0}});
    TextInput input{.source = model.sourceTokenizer()->encode("forty-six thousand nine hundred eighty-five").ids};
    input.tokens = {static_cast<int>(model.config().startToken)};
    const std::vector<int> stops = model.source().stopTokens();
    for (;;) {
        const std::vector<float> logits = model.predict(input);
        const int next = static_cast<int>(std::ranges::max_element(logits) - logits.begin());
        if (std::ranges::find(stops, next) != stops.end()) break;
        input.tokens.push_back(next);
    }
    const CapturedHook hook = model.capture(input, "decoder.0.cross_attn.hook_pattern").front();
    const int64_t rows = hook.shape[1], columns = hook.shape[2];
    int jumps = 0;
    for (int64_t row = 0, before = 0; row < rows; ++row) { // of head 0
        const auto begin = hook.values.begin() + row * columns;
        const auto brightest = std::max_element(begin, begin + columns) - begin;
        if (row > 0 && brightest < before) ++jumps;
        before = brightest;
    }
    CHECK(jumps == 2);
}

TEST_CASE("lessons: the training that one interrupts goes on after it", "[lab][lessons]") {
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
    const std::string prompt = lab.snapshot().sequence->prompt;
    lab.start(4); // of another model
    lab.answer();
    lab.click("lessonLeave");
    REQUIRE(lab.window().isRestoring());
    lab.click("lessonStart");
    REQUIRE(lab.waitFor([&] { return lab.player().isPlaying(); }, kPatienceMs));
    CHECK(lab.player().before()->modelPath == "builtin:sort");
    lab.answer();
    lab.click("lessonLeave");
    REQUIRE(lab.waitFor([&] { return !lab.player().before(); }, kPatienceMs));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->name == "sort");
    CHECK(lab.snapshot().sequence->prompt == prompt);
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

TEST_CASE("lessons: a lesson that was open when the window closed goes on at its step", "[lab][lessons]") {
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
    REQUIRE_FALSE(window->lessons().isPlaying());
    window->bridge().post(SetPromptCommand{"abcabc"});
    window->bridge().post(GenerateCommand{.maxTokens = 2});
    REQUIRE(lab.waitFor([&] { return window->workbench().snapshot()->sequence->tokens.size() == 8; }));
    const auto start = [&](int step) {
        window->findChild<LessonPanel*>()->start(window->findChild<LessonPanel*>()->lessons()[4], step);
        REQUIRE(lab.waitFor([&] { return window->lessons().isReady(); }, kPatienceMs));
    };
    start(2);
    window->close();
    window.reset();
    window = open();
    REQUIRE(lab.waitFor([&] { return window->lessons().isPlaying(); }, kPatienceMs));
    CHECK(window->lessons().lesson().id == window->findChild<LessonPanel*>()->lessons()[4].id);
    CHECK(window->lessons().step() == 2);
    CHECK(window->findChild<QWidget*>("lessonStep")->isVisible());
    REQUIRE(lab.waitFor([&] { return window->lessons().isReady(); }, kPatienceMs));
    // Leaving it gives back what was open before, with the text that was written.
    window->lessons().leave();
    REQUIRE(lab.waitFor([&] { return !window->lessons().before(); }, kPatienceMs));
    CHECK(lab.waitFor([&] { return window->workbench().snapshot()->sequence->tokens.size() == 8; }, kPatienceMs));
    CHECK(window->workbench().snapshot()->sequence->prompt == "abcabc");
    // A lesson that was left opens no more.
    window->close();
    window.reset();
    window = open();
    REQUIRE(window->bridge().waitIdle(60));
    QTest::qWait(100);
    CHECK_FALSE(window->lessons().isPlaying());
}
