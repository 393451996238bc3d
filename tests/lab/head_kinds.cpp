#include "engine/analysis/head_kinds.h"
#include "app/lab/panels/compare_panel.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/analysis/head_measures.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

constexpr const char* kRepeats = "the quick fox the qu";

} // namespace

TEST_CASE("lab: heads whose kinds were not found, and a comparison that fails, say why", "[lab]") {
    LabWindow lab("builtin:induction", kRepeats);
    lab.showPanel("kinds");
    REQUIRE(lab.waitFor([&] { return lab.find<QTreeWidget>("kindHeads").topLevelItemCount() == 4; }));
    auto& message = lab.find<QLabel>("kindMessage");
    CHECK(message.isHidden());
    CHECK(lab.find<QLabel>("kindMeasured").text().startsWith("Measured on repeated random tokens"));
    for (int i = 0; i < 20 && message.isHidden(); ++i) { // the analysis is short: it may be done before the stop comes
        lab.click("kindDetect");
        lab.window().bridge().post(StopCommand{});
        REQUIRE(lab.settle());
    }
    CHECK_THAT(message.text().toStdString(), CONTAINS("stopped before it was done"));
    lab.clickAndSettle("kindDetect");
    CHECK(message.isHidden());

    lab.showPanel("compare");
    auto& panel = lab.find<ComparePanel>("compare");
    auto& other = lab.find<QLineEdit>("compareText");
    auto& said = lab.find<QLabel>("compareMessage");
    lab.find<QComboBox>("compareWith").setCurrentIndex(2);
    const auto compare = [&](const QString& text, const char* answer) {
        other.setText(text);
        lab.click("compareRun");
        REQUIRE(lab.waitFor([&] { return panel.second().waitIdle(1) && said.text().contains(answer); }));
    };
    compare("the brown fox the br", "B is “the brown fox the br”");
    compare(QString(20'000, 'a'), "20,000 tokens");
    lab.window().workbench().selectHead(1, 1); // asks B for other views
    REQUIRE(lab.settle());
    REQUIRE(panel.second().waitIdle(10));
    QTest::qWait(50);
    CHECK_THAT(said.text().toStdString(), CONTAINS("20,000 tokens"));
}

TEST_CASE("lab: head kinds are found, explained, sorted and likened", "[lab]") {
    LabWindow lab("builtin:induction", kRepeats);
    lab.showPanel("kinds");
    auto& heads = lab.find<QTreeWidget>("kindHeads");
    REQUIRE(lab.waitFor([&] { return heads.topLevelItemCount() == 4; })); // by itself
    lab.forget();
    lab.clickAndSettle("kindDetect");
    CHECK(lab.askedOf<HeadDetectionAnalysis>() == 1);
    CHECK(heads.topLevelItemCount() == 4);
    const auto textAt = [&](int row, int column) { return heads.topLevelItem(row)->text(column); };
    const auto select = [&](int row) { heads.setCurrentItem(heads.topLevelItem(row)); };
    CHECK(textAt(0, 0) == "L1 H0");
    CHECK(textAt(0, 1) == "induction");
    CHECK_FALSE(heads.topLevelItem(0)->icon(0).isNull());
    select(0);
    CHECK(lab.find<QLabel>("kindExplanation").text().contains("the token that followed an earlier copy"));
    REQUIRE(lab.settle());
    CHECK(lab.find<QSpinBox>("interventionLayer").value() == 1); // the other panels follow
    auto& order = lab.find<QComboBox>("kindOrder");
    order.setCurrentIndex(order.findText("By “previous token”"));
    emit order.activated(order.currentIndex());
    CHECK(textAt(0, 0) == "L0 H0");
    CHECK(textAt(0, 2) == "100 %"); // for that kind
    CHECK(heads.headerItem()->text(2) == "Score");
    CHECK(textAt(3, 2) != "100 %");
    select(0);
    lab.click("kindAlike");
    CHECK(textAt(0, 0) == "L0 H0");
    CHECK(textAt(0, 4) == "100 %");
    CHECK(heads.topLevelItemCount() == 4);
    CHECK(order.currentText() == "By similarity");
    CHECK(heads.headerItem()->text(2) == "Own score");
    for (const int column : {0, 1, 2, 4})
        CHECK(heads.header()->sectionSize(column) >= heads.header()->sectionSizeHint(column));

    // The same in another model.
    order.setCurrentIndex(0);
    emit order.activated(0);
    CHECK(heads.isColumnHidden(4));
    CHECK(order.findText("By similarity") < 0);
    select(0);
    lab.click("kindAlike");
    lab.window().files().open("builtin:induction-trained");
    REQUIRE(lab.waitFor([&] {
        return heads.topLevelItemCount() == 4 && textAt(0, 0) == "L1 H0" && textAt(0, 4) != "100 %" &&
               textAt(0, 4).endsWith('%');
    }));
    heads.setCurrentItem(nullptr);
    CHECK(lab.find<QLabel>("kindExplanation").text().contains("L1 H0 of induction."));
}

TEST_CASE("lab: a map of all heads shows the score of a kind, or a measure of the text", "[lab]") {
    LabWindow lab("builtin:induction", kRepeats);
    lab.showPanel("kinds");
    auto& map = lab.find<MatrixView>("kindMap");
    auto& score = lab.find<QComboBox>("kindScore");
    auto& measured = lab.find<QLabel>("kindMeasured");
    const auto choose = [&](const char* text) {
        const int at = score.findText(text);
        REQUIRE(at >= 0);
        score.setCurrentIndex(at);
        emit score.activated(at);
        REQUIRE(lab.settle());
    };
    REQUIRE(lab.waitFor([&] { return map.figure().rows() == 2; })); // by itself
    CHECK(map.figure().columns() == 2);
    CHECK(map.figure().title == "induction");
    CHECK(map.figure().valueAt({1, 0}) > 0.95f);
    CHECK(map.figure().valueAt({0, 0}) < 0.2f);
    CHECK(measured.text().startsWith("Measured on repeated random tokens"));

    emit map.chosen({0, 1});
    REQUIRE(lab.settle());
    CHECK(lab.window().workbench().selection().site == 0);
    CHECK(lab.window().workbench().selection().head == 1);
    CHECK(map.figure().selected == MatrixCell{0, 1});
    CHECK(lab.find<QTreeWidget>("kindHeads").currentItem()->text(0) == "L0 H1");
    CHECK(lab.find<QLabel>("kindExplanation").text().startsWith("L0 H1 – "));

    lab.forget();
    choose("Your input: share on the previous token");
    REQUIRE(lab.waitFor([&] { return map.figure().rows() == 2; }));
    CHECK(lab.askedOf<HeadMeasuresAnalysis>() == 1);
    CHECK(map.figure().valueAt({0, 0}) > 0.9f);
    CHECK(measured.text().contains("Measured on the text that is open."));
    CHECK(lab.window().panels().panel("kinds").numbers().csv().contains("0."));
    choose("Kind: induction");
    choose("Your input: entropy, in bits"); // is known already
    CHECK(lab.askedOf<HeadMeasuresAnalysis>() == 1);
    const float before = map.figure().valueAt({1, 1});

    lab.find<QPlainTextEdit>("prompt").setPlainText("abcdefghijkl");
    lab.act("focusPrompt");
    REQUIRE(lab.settle());
    lab.showPanel("kinds");
    REQUIRE(lab.waitFor([&] { return map.figure().rows() == 2 && map.figure().valueAt({1, 1}) != before; }));

    lab.window().files().open("builtin:vit-shapes");
    REQUIRE(lab.waitFor([&] { return score.findText("Kind: induction") < 0; })); // kinds of pictures
    choose("Your input: distance");
    REQUIRE(lab.waitFor([&] { return !map.figure().isEmpty() && map.figure().valueAt({0, 0}) > 0; }));
    CHECK(measured.text().contains("Measured on the picture that is open."));
}
