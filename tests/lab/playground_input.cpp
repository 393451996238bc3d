#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/map_grid.h"
#include "app/lab/widgets/patch_view.h"
#include "app/lab/widgets/spec_editor.h"
#include "tests/lab/playground_test.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

void choose(LabWindow& lab, int input) {
    auto& kind = lab.find<QComboBox>("playInput");
    kind.setFocus();
    QTest::keyClick(&kind, Qt::Key_Home);
    for (int i = 0; i < input; ++i) QTest::keyClick(&kind, Qt::Key_Down);
}

} // namespace

TEST_CASE("lab: a sentence through the open model's layer, with its tokens on the axes", "[lab]") {
    PlaygroundWindow lab;
    CHECK_FALSE(lab.find<QLabel>("notRetrained").isVisible());
    choose(lab, 1);
    const auto tokens = std::ssize(lab.snapshot().sequence->tokens);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.layer && shown(lab).query.tokens == tokens; }));
    REQUIRE_FALSE(shown(lab).failure);
    CHECK_FALSE(lab.find<QLabel>("notRetrained").isVisible()); // the attention is the model's own
    const AttentionSpec& spec = lab.window().findChild<SpecEditor*>()->spec();
    CHECK(spec.parts.at(Slot::Heads).id == "multi_head");
    CHECK(spec.parts.at(Slot::Position).id == "none"); // this model adds its positions to the tokens
    CHECK(shown(lab).query.width == lab.snapshot().model->structure.sites.front().headWidth);
    const auto& pattern = lab.find<MatrixView>("map.pattern").figure();
    REQUIRE(lab.waitFor([&] { return !pattern.rowLabels.empty(); }));
    CHECK(pattern.rowLabels.size() == static_cast<size_t>(tokens));
    CHECK(pattern.columnLabels == pattern.rowLabels);
    const auto& view = lab.find<MatrixView>("map.pattern");
    lab.layOut();
    CHECK(view.figureLayout().columnLabels > 0); // the words are drawn
    // Another attention than the model's own is said to be untrained, in A and in B.
    const QString own = lab.find<QLineEdit>("specText").text();
    type(lab.find<QLineEdit>("specText"), qPrintable(own + " & window(2)"));
    CHECK(lab.find<QLabel>("notRetrained").isVisible());
    lab.press(lab.action("undo"));
    CHECK_FALSE(lab.find<QLabel>("notRetrained").isVisible());
    QTest::mouseClick(&lab.find<QCheckBox>("compare"), Qt::LeftButton);
    CHECK_FALSE(lab.find<QLabel>("notRetrained").isVisible());
    type(lab.find<QLineEdit>("specText"), qPrintable(own + ", normaliser=linear"));
    CHECK(lab.find<QLabel>("notRetrained").isVisible());
    lab.press(lab.action("undo"));
    lab.press(lab.action("undo"));
    // The sentence continues, and the maps with it.
    lab.window().bridge().post(GenerateCommand{.maxTokens = 1});
    REQUIRE(lab.waitFor([&] { return shown(lab).query.tokens == tokens + 1; }));
    // Undo brings the random vectors and the heads back.
    lab.press(lab.action("undo"));
    REQUIRE(lab.waitFor([&] { return !shown(lab).query.layer && shown(lab).query.tokens == 32; }));
}

TEST_CASE("lab: a sentence begins with the positions of a rotary model in A and in B, and names its words", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog. She loved her");
    REQUIRE(opens(lab));
    QTest::mouseClick(&lab.find<QCheckBox>("compare"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return shown(lab).comparison.has_value(); }));
    choose(lab, 1);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.layer && shown(lab).comparison; }));
    for (const AttentionSpec& spec : {shown(lab).query.spec, *shown(lab).query.other}) {
        CHECK(spec.parts.at(Slot::Position).id == "rope");
        CHECK(spec.mask == MaskExpression::causal());
    }
    CHECK_FALSE(lab.find<QLabel>("notRetrained").isVisible());
    const auto tokens = static_cast<size_t>(shown(lab).query.tokens);
    for (const char* map : {"mapA", "mapB"}) {
        REQUIRE(lab.waitFor([&] { return lab.find<MatrixView>(map).figure().rowLabels.size() == tokens; }));
        CHECK(lab.find<MatrixView>(map).figureLayout().rowLabels > 0);
    }
    CHECK(lab.find<LinesView>("divergence").figure().placeNames.size() == tokens);
}

TEST_CASE("lab: a picture in patches shows over itself what a patch takes", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("specText"), "mask=full");
    choose(lab, 2);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.features && shown(lab).query.tokens == 64; }));
    auto& patches = lab.find<PatchView>("playPatches");
    CHECK(patches.isVisible());
    auto& view = lab.find<MatrixView>("map.pattern");
    REQUIRE(lab.waitFor([&] { return view.figure().rows() == 64; }));
    hover(view, view.figureLayout().cellRect({10, 3}).center().toPoint());
    REQUIRE(lab.waitFor([&] { return patches.query() == 10; }));
    REQUIRE(patches.weights().size() == 64);
    CHECK(patches.weights()[3] == view.figure().valueAt({10, 3}));
    hover(patches, patches.patchRect(20).center().toPoint());
    REQUIRE(lab.waitFor([&] { return patches.query() == 20; }));
    CHECK(patches.weights()[20] == view.figure().valueAt({20, 20}));

    const QString path = lab.folder() + "/picture.attnlab";
    lab.saveSession(path);
    lab.press(lab.action("undo"));
    REQUIRE(lab.waitFor([&] { return !shown(lab).query.features; }));
    lab.window().files().openSession(path);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.features && shown(lab).query.tokens == 64; }));
}

TEST_CASE("lab: doubled tokens show a part of a long effective pattern, with its tokens on the axes", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "heads=multi_head(2), normaliser=linear, mask=causal");
    const auto number = [&](const char* title) -> QDoubleSpinBox& {
        for (QDoubleSpinBox* box : lab.find<QWidget>("playInputs").findChildren<QDoubleSpinBox*>())
            if (box->accessibleName() == title) return *box;
        throw std::runtime_error(std::string("no number is called ") + title);
    };
    auto& across = number("Tokens across");
    CHECK_FALSE(across.isVisible());
    const auto set = [](QDoubleSpinBox& box, int value) {
        box.setFocus();
        box.selectAll();
        QTest::keyClicks(&box, QString::number(value));
        QTest::keyClick(&box, Qt::Key_Return);
    };
    set(number("Tokens"), 64);
    set(number("Length doublings"), 5);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.tokens == 2048 && !shown(lab).maps.empty(); }));
    CHECK(across.isVisible());
    const auto& pattern = lab.find<MatrixView>("map.pattern").figure();
    REQUIRE(lab.waitFor([&] { return pattern.rows() == 256; }));
    CHECK(pattern.rowName(1) == "8–15");
    set(number("From query"), 1000);
    set(across, 100);
    REQUIRE(lab.waitFor([&] { return pattern.rows() == 100 && pattern.rowName(1) == "1001"; }));
    CHECK(pattern.valueAt({5, 7}) > 0);
    // Softmax forms its pattern whole: that is said where the parts are chosen.
    type(lab.find<QLineEdit>("specText"), "heads=multi_head(2), mask=causal");
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("specProblem").text().contains("product of features"); }));
}
