#include "app/lab/widgets/comparison_view.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/spec_editor.h"
#include "tests/lab/playground_test.h"

using namespace attn;

namespace {

bool compares(LabWindow& lab, const char* a, const char* b) {
    return lab.waitFor([&] {
        return shown(lab).query.spec == AttentionSpec::parse(a) && shown(lab).query.other == AttentionSpec::parse(b) &&
               shown(lab).comparison;
    });
}

} // namespace

TEST_CASE("lab: Compare sets a second spec beside the first, with their difference and its size", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "mask=causal");
    QTest::mouseClick(&lab.find<QCheckBox>("compare"), Qt::LeftButton);
    REQUIRE(compares(lab, "mask=causal", "mask=causal"));
    CHECK(lab.find<QTabBar>("whichSpec").currentIndex() == 1);
    CHECK(lab.find<QLabel>("compareError").text().contains("by 0 %"));
    // What is typed now is B.
    type(lab.find<QLineEdit>("specText"), "mask=causal & window(2)");
    REQUIRE(compares(lab, "mask=causal", "mask=causal & window(2)"));
    const auto& difference = lab.find<MatrixView>("mapDifference").figure();
    const auto &a = lab.find<MatrixView>("mapA").figure(), &b = lab.find<MatrixView>("mapB").figure();
    REQUIRE(lab.waitFor([&] { return std::isnan(b.valueAt({9, 2})); }));
    CHECK(difference.kind == MatrixFigure::Kind::Signed);
    CHECK(a.largest() == b.largest());                      // equal colours mean equal weights
    CHECK(difference.valueAt({9, 2}) == a.valueAt({9, 2})); // hidden in B
    CHECK(difference.valueAt({9, 9}) == Approx(a.valueAt({9, 9}) - b.valueAt({9, 9})));
    CHECK(std::isnan(difference.valueAt({2, 9}))); // hidden in both
    const auto& bits = lab.find<LinesView>("divergence").figure();
    REQUIRE(bits.places() == 32);
    CHECK(bits.lines.front().values[1] == 0); // the first two rows see the same
    CHECK(bits.lines.front().values[20] > 0.1f);
    CHECK_FALSE(lab.find<QLabel>("compareRemark").isVisible());

    // Another kind of map, by keyboard.
    auto& kind = lab.find<QComboBox>("compareKind");
    CHECK(kind.currentData().toString() == "pattern");
    kind.setFocus();
    QTest::keyClick(&kind, Qt::Key_Down);
    CHECK(kind.currentData().toString() == "z");
    CHECK(difference.columns() == 16);
    CHECK(a.largest() == b.largest());

    // A again, and B a copy of it; undo takes the steps back.
    lab.click("copySpec");
    REQUIRE(compares(lab, "mask=causal", "mask=causal"));
    lab.press(lab.action("undo"));
    REQUIRE(compares(lab, "mask=causal", "mask=causal & window(2)"));
    QTest::mouseClick(&lab.find<QCheckBox>("compare"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return !shown(lab).query.other && !shown(lab).maps.empty(); }));
    CHECK(lab.find<MatrixView>("map.pattern").isVisible());
    CHECK(lab.window().findChild<SpecEditor*>()->spec() == AttentionSpec::parse("mask=causal"));
}

TEST_CASE("lab: a comparison says why there is no divergence, and comes back with the session", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("specText"), "mask=full");
    QTest::mouseClick(&lab.find<QCheckBox>("compare"), Qt::LeftButton);
    type(lab.find<QLineEdit>("specText"), "normaliser=xcit");
    REQUIRE(compares(lab, "mask=full", "normaliser=xcit"));
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("compareRemark").isVisible(); }));
    CHECK(lab.find<QLabel>("compareRemark").text().contains("B forms no pattern"));
    CHECK_FALSE(lab.find<LinesView>("divergence").isVisible());
    CHECK(lab.find<QLabel>("compareError").text().startsWith("The outputs of A and B differ by"));
    const QString path = lab.folder() + "/compare.attnlab";
    lab.saveSession(path);
    lab.press(lab.action("undo"));
    lab.window().files().openSession(path);
    REQUIRE(compares(lab, "mask=full", "normaliser=xcit"));
}
