#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/inference/language_model.h"
#include "tests/lab/playground_test.h"
#include "tests/lab/student.h"

// Each lesson is done with the real controls.

using namespace attn;

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
