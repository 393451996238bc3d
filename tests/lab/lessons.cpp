#include "app/lab/lessons/average_exercise.h"
#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/matrix_view.h"
#include "tests/lab/playground_test.h"
#include "tests/support/catch.h"

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSlider>
#include <QSpinBox>
#include <QTreeView>

namespace attn {
namespace {

constexpr int kPatienceMs = 180'000; ///< software Vulkan beside other work, under a sanitizer too

/// A student: answers, does what the step asks for with the real control, and goes on.
class Student {
public:
    explicit Student(LabWindow& lab) : lab_(lab) {}

    LessonPlayer& player() { return lab_.window().lessons(); }
    const LessonStep& step() { return player().currentStep(); }

    void start(int lesson) {
        lab_.press(lab_.action("lessons"));
        auto& list = lab_.find<QListWidget>("lessonList");
        QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualItemRect(list.item(lesson)).center());
        press("lessonStart");
        REQUIRE(player().isPlaying());
    }
    void press(const char* button) { QTest::mouseClick(&lab_.find<QPushButton>(button), Qt::LeftButton); }

    void answer() {
        REQUIRE(lab_.waitFor([&] { return player().isReady(); }, kPatienceMs));
        REQUIRE(lab_.settle());
        CHECK_FALSE(lab_.find<QPushButton>("lessonNext").isEnabled());
        CHECK_FALSE(lab_.find<QLabel>("lessonOutcome").isVisible());
        CHECK_FALSE(lab_.find<QLabel>("lessonTask").isVisible());
        const LessonPrediction& asked = *step().prediction;
        if (asked.number) {
            write(lab_.find<QDoubleSpinBox>("lessonNumber"), QString::number(asked.number->answer, 'f', 2));
            press("lessonAnswer");
        } else {
            const auto right = std::ranges::find(asked.choices, true, &LessonChoice::isRight) - asked.choices.begin();
            press(("lessonChoice" + std::to_string(right)).c_str());
        }
        REQUIRE(player().isAnswered());
        CHECK(player().progress().isRight);
        CHECK(lab_.find<QLabel>("lessonTask").isVisible());
        REQUIRE(lab_.waitFor([&] { return player().isReady(); }, kPatienceMs));
        REQUIRE(lab_.settle());
        if (step().pointAt.isEmpty()) return;
        REQUIRE(player().target());
        CHECK(player().target()->isEnabled());
        CHECK(lab_.waitFor([&] { return lab_.find<QWidget>("lessonPointer").isVisible(); }));
    }
    void goOn() {
        INFO(player().lesson().id.toStdString() << ", step " << player().step() + 1);
        REQUIRE(lab_.waitFor([&] { return lab_.find<QPushButton>("lessonNext").isEnabled(); }, kPatienceMs));
        CHECK(lab_.find<QLabel>("lessonOutcome").isVisible());
        press("lessonNext");
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
        REQUIRE(lab_.waitFor([&] { return !lab_.window().isRestoring() && !player().before(); }, kPatienceMs));
        REQUIRE(lab_.settle());
        CHECK(lab_.find<QListWidget>("lessonList").item(lesson)->text().startsWith(QStringLiteral("✓")));
        for (const char* freed : {"openFolder", "run", "trainPlay", "exportPng", "panel.playground"})
            CHECK(lab_.action(freed).isEnabled());
        CHECK_FALSE(lab_.find<QWidget>("lessonPointer").isVisible());
        CHECK(lab_.snapshot().model->name == "induction");
        CHECK(lab_.snapshot().sequence->prompt == "abab");
    }

    void write(QAbstractSpinBox& box, const QString& text) {
        box.setFocus();
        box.selectAll();
        QTest::keyClicks(&box, text);
        QTest::keyClick(&box, Qt::Key_Tab);
    }
    void choose(const char* combo, const char* part) {
        auto& choice = lab_.find<QComboBox>(combo);
        choice.setFocus();
        QTest::keyClick(&choice, Qt::Key_Home);
        while (choice.currentData().toString() != QLatin1String(part) && choice.currentIndex() + 1 < choice.count())
            QTest::keyClick(&choice, Qt::Key_Down);
        REQUIRE(choice.currentData().toString() == QLatin1String(part));
    }
    void writePrompt(const char* text) {
        auto& prompt = lab_.find<QPlainTextEdit>("prompt");
        prompt.setFocus();
        QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(&prompt, text);
    }
    void clickHead(int layer, int head) {
        auto& grid = lab_.find<HeadsGrid>("headsGrid");
        QTest::mouseClick(grid.viewport(), Qt::LeftButton, {}, grid.cellRect(layer, head).center());
    }
    void closeGate(int layer, int head) {
        clickHead(layer, head);
        auto& gate = lab_.find<QSlider>("gate");
        gate.setFocus();
        QTest::keyClick(&gate, Qt::Key_Home);
    }
    void weights(const char* first, const char* second, const char* third) {
        write(lab_.find<QDoubleSpinBox>("averageWeight0"), first);
        write(lab_.find<QDoubleSpinBox>("averageWeight1"), second);
        write(lab_.find<QDoubleSpinBox>("averageWeight2"), third);
    }
    /// Writes into the control that the step points at.
    void writeTarget(const QString& text) {
        auto* box = qobject_cast<QAbstractSpinBox*>(player().target());
        REQUIRE(box);
        write(*box, text);
    }
    void clickTarget() { QTest::mouseClick(player().target(), Qt::LeftButton); }

private:
    LabWindow& lab_;
};

} // namespace

TEST_CASE("lessons: 1, the weighted average, is done by hand", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    student.take(0, {[&] { student.weights("0.5", "0.5", "0"); }, [&] { student.weights("0.25", "0.25", "0.5"); },
                     [&] { student.weights("0", "0", "1"); }, [&] { student.clickTarget(); }});
}

TEST_CASE("lessons: 2, queries, keys and values, is done in the cell and the playground", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    student.take(1, {[&] { student.clickTarget(); }, [&] { student.writeTarget("64"); },
                     [&] { student.choose("slot.score", "scaled_dot"); }});
}

TEST_CASE("lessons: 3, masks, is done in the line of the mask and by the brush", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    const auto mask = [&](const char* text) { type(lab.find<QLineEdit>("maskText"), text); };
    student.take(
        2,
        {[&] { mask("causal"); }, [&] { mask("causal & window(3)"); }, [&] { mask("full"); },
         [&] {
             auto& canvas = lab.find<MatrixView>("maskCanvas");
             REQUIRE(lab.waitFor([&] { return canvas.figure().rows() == 16 && canvas.width() > 100; }));
             QTest::mouseClick(&canvas, Qt::LeftButton, {}, canvas.figureLayout().cellRect({3, 10}).center().toPoint());
         }});
}

TEST_CASE("lessons: 4, position, is done in the prompt and the position slot", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    const auto shuffle = [&] { student.writePrompt("Tom saw a red big dog."); };
    student.take(3,
                 {shuffle, shuffle, [&] { student.choose("slot.position", "sinusoidal"); },
                  [&] { student.choose("slot.position", "rope"); }, [&] { student.choose("slot.position", "alibi"); }});
}

TEST_CASE("lessons: 5, many heads, is done with the grid and the gate", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    const auto likeliest = [&] {
        return lab.find<QTreeView>("candidates").model()->index(0, 0).data().toString().trimmed();
    };
    student.take(4, {[&] { student.clickHead(1, 0); }, [&] { student.clickHead(0, 0); },
                     [&] {
                         CHECK(likeliest() == "d");
                         const float before = rankCandidates(lab.snapshot().next->logits, {}, {}, 1)[0].probability;
                         student.closeGate(1, 0);
                         REQUIRE(lab.settle());
                         CHECK(rankCandidates(lab.snapshot().next->logits, {}, {}, 1)[0].probability < before / 2);
                     },
                     [&] {
                         CHECK(likeliest() == "h");
                         student.closeGate(1, 1);
                         REQUIRE(lab.settle());
                         CHECK(likeliest() == "h");
                     },
                     [&] {
                         student.closeGate(1, 0);
                         REQUIRE(lab.settle());
                         CHECK(likeliest() != "h");
                     }});
}

TEST_CASE("lessons: 6, writing, is done with the sampling, the text and the list of tokens", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    student.take(
        5, {[&] { student.writeTarget("2"); }, [&] { student.writeTarget("5"); }, [&] { student.writeTarget("0.5"); },
            [&] {
                for (int i = 0; i < 3; ++i) {
                    student.press("step");
                    REQUIRE(lab.settle());
                }
                auto& text = lab.find<GeneratedText>("text");
                QTest::mouseClick(text.viewport(), Qt::LeftButton, {}, text.tokenRect(text.count() - 3).center());
                REQUIRE(lab.settle());
                auto& list = lab.find<QTreeView>("candidates");
                QTest::mouseClick(list.viewport(), Qt::LeftButton, {},
                                  list.visualRect(list.model()->index(2, 0)).center());
                REQUIRE(lab.settle());
                student.press("step");
            }});
}

TEST_CASE("lessons: 7, training, is done with Step, Train and the timeline", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abab");
    Student student(lab);
    student.take(6, {[&] { student.press("trainStep"); },
                     [&] {
                         CHECK_FALSE(lab.find<QLabel>("trainHint").isVisible()); // it tells the answer
                         student.press("train.play");
                     },
                     [&] {
                         auto& timeline = lab.find<QSlider>("timeline");
                         REQUIRE(lab.waitFor([&] { return timeline.isEnabled(); }, kPatienceMs));
                         timeline.setFocus();
                         QTest::keyClick(&timeline, Qt::Key_Home);
                     }});
}

TEST_CASE("lessons: each step asks before it shows, and points at what is there", "[lab][lessons]") {
    LabWindow lab;
    const auto& lessons = lab.window().findChild<LessonPanel*>()->lessons();
    CHECK(lessons.size() == 7);
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
    LabWindow lab;
    Student student(lab);
    student.start(4);
    REQUIRE(lab.waitFor([&] { return student.player().isReady(); }, kPatienceMs));
    CHECK_FALSE(lab.action("openFolder").isEnabled());
    CHECK_FALSE(lab.action("run").isEnabled());
    CHECK_FALSE(lab.find<QSpinBox>("attentionLayer").isEnabled());
    student.answer();
    CHECK(lab.find<QSpinBox>("attentionLayer").isEnabled());
    CHECK_FALSE(lab.find<QSlider>("gate").isEnabled());
    CHECK_FALSE(lab.action("run").isEnabled());
}

TEST_CASE("lessons: leaving gives back model, prompt, branches, sampling, gates, locks and layout", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.press(lab.action("step"));
    REQUIRE(lab.settle());
    lab.window().workbench().setSampling({.greedy = false, .temperature = 0.5f});
    lab.closeGate(1, 1, 0.25f);
    lab.window().setLocks({{"export", ControlState::Locked}});
    REQUIRE(lab.settle());
    const SessionDocument before = lab.window().document();
    Student student(lab);
    for (const int lesson : {4, 5}) { // of the same model, and of another
        student.start(lesson);
        student.answer();
        CHECK(lab.find<QDockWidget>("dock.lessons").isVisible());
        CHECK_FALSE(lab.find<QDockWidget>("dock.train").isVisible());
        student.press("lessonLeave");
        REQUIRE(lab.waitFor([&] { return !lab.window().isRestoring(); }, kPatienceMs));
        REQUIRE(lab.settle());
        const SessionDocument after = lab.window().document();
        CHECK(after.modelPath == before.modelPath);
        CHECK(after.prompt == before.prompt);
        CHECK(after.branches == before.branches);
        CHECK(after.current == before.current);
        CHECK(after.sampling == before.sampling);
        CHECK(after.locks == before.locks);
        CHECK(after.view == before.view);
        CHECK(lab.snapshot().changes->gate(1, 1) == Approx(0.25f));
        CHECK(lab.find<QDockWidget>("dock.train").isVisibleTo(&lab.window()));
        CHECK_FALSE(lab.action("exportPng").isEnabled());
        CHECK(lab.action("run").isEnabled());
    }
}

TEST_CASE("lessons: the place is remembered, and the list goes on there", "[lab][lessons]") {
    LabWindow lab;
    Student student(lab);
    student.start(0);
    student.answer();
    student.weights("0.5", "0.5", "0");
    student.goOn();
    REQUIRE(student.player().step() == 1);
    student.press("lessonLeave");
    CHECK(LessonProgress::load("01-weighted-average") == LessonProgress{.isDone = false, .step = 1});
    CHECK(unfinishedLesson() == "01-weighted-average");
    CHECK(lab.find<QPushButton>("lessonStart").text().remove('&') == "Continue at step 2");
    student.press("lessonStart");
    CHECK(student.player().step() == 1);
    student.press("lessonBack");
    CHECK(student.player().step() == 0);
    student.press("lessonLeave");
    QTest::mouseClick(&lab.find<QPushButton>("lessonForget"), Qt::LeftButton);
    CHECK(unfinishedLesson().isEmpty());
    CHECK(lab.find<QPushButton>("lessonStart").text().remove('&') == "Start");
}

TEST_CASE("lessons: the keyboard alone takes a step, and Esc leaves", "[lab][lessons]") {
    LabWindow lab;
    Student student(lab);
    const auto focus = [] { return QApplication::focusWidget(); };
    lab.press(lab.action("lessons"));
    REQUIRE(focus() == &lab.find<QListWidget>("lessonList"));
    QTest::keyClick(focus(), Qt::Key_Home);
    QTest::keyClick(focus(), Qt::Key_Return);
    REQUIRE(student.player().isPlaying());
    QTest::keyClick(focus(), Qt::Key_2);
    REQUIRE(student.player().isAnswered());
    QTest::keyClick(focus(), Qt::Key_Return); // not done yet
    CHECK(student.player().step() == 0);
    QTest::keyClick(focus(), Qt::Key_I, Qt::AltModifier);
    REQUIRE(lab.waitFor([&] { return lab.find<AverageExercise>("average").isAncestorOf(focus()); }));
    for (int i = 0; i < 10; ++i) QTest::keyClick(focus(), Qt::Key_Left); // the slider of the first weight
    QTest::keyClick(focus(), Qt::Key_Tab);
    QTest::keyClick(focus(), Qt::Key_Tab);
    for (int i = 0; i < 10; ++i) QTest::keyClick(focus(), Qt::Key_Right);
    REQUIRE(lab.waitFor([&] { return student.player().progress().isDone; }));
    QTest::keyClick(focus(), Qt::Key_N, Qt::AltModifier);
    REQUIRE(lab.waitFor([&] { return student.player().step() == 1; }));
    lab.find<QWidget>("lessonStep").setFocus();
    QTest::keyClick(focus(), Qt::Key_Escape);
    CHECK_FALSE(student.player().isPlaying());
}

TEST_CASE("lessons: one begun while another is given back waits for that", "[lab][lessons]") {
    LabWindow lab("builtin:sort", "3 1 2 =");
    const std::string prompt = lab.snapshot().sequence->prompt;
    Student student(lab);
    student.start(4); // of another model
    student.answer();
    student.press("lessonLeave");
    REQUIRE(lab.window().isRestoring());
    student.press("lessonStart");
    REQUIRE(lab.waitFor([&] { return student.player().isPlaying(); }, kPatienceMs));
    CHECK(student.player().before()->modelPath == "builtin:sort");
    student.answer();
    student.press("lessonLeave");
    REQUIRE(lab.waitFor([&] { return !student.player().before(); }, kPatienceMs));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->name == "sort");
    CHECK(lab.snapshot().sequence->prompt == prompt);
}

TEST_CASE("lessons: the window closed in the middle of one opens the next time as it was before", "[lab][lessons]") {
    LabWindow lab;
    Student student(lab);
    student.start(1);
    const QByteArray before = lab.window().lessons().before()->layout, during = lab.window().document().layout;
    lab.window().close();
    const QByteArray saved = QSettings().value("layout").toByteArray();
    CHECK((saved == before && saved != during)); // in brackets: hundreds of bytes are no message
}

} // namespace attn
