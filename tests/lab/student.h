#pragma once

#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/heatmap_view.h"
#include "tests/lab/lab_window.h"

namespace attn {

inline constexpr int kPatienceMs = 180'000; ///< software Vulkan beside other work, under a sanitizer too

/// A student: answers, does what the step asks for with the real control, and continues.
class Student : public LabWindow {
public:
    using LabWindow::LabWindow;

    LessonPlayer& player() { return window().lessons().player(); }
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
        REQUIRE(waitFor([&] { return !window().session().isRestoring() && !player().before(); }, kPatienceMs));
        REQUIRE(settle());
        auto& list = find<QListWidget>("lessonList");
        CHECK(list.item(lesson)->text().startsWith(QStringLiteral("✓")));
        CHECK(list.currentRow() == std::min(lesson + 1, list.count() - 1));
        for (const char* freed : {"openFolder", "run", "trainPlay", "exportPng", "panel.playground"})
            CHECK(action(freed).isEnabled());
        CHECK_FALSE(find<QWidget>("lessonPointer").isVisible());
        CHECK(snapshot().model->name == "induction");
        CHECK(snapshot().sequence->given.text == "abab");
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

} // namespace attn
