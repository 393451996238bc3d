#include "app/lab/widgets/linear_layer_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "tests/lab/playground_test.h"

using namespace attn;

namespace {

float largestIn(LabWindow& lab, const char* name) {
    const MatrixFigure& figure = lab.find<MatrixView>(name).figure();
    float largest = 0;
    for (int row = 0; row < figure.rows(); ++row)
        for (int column = 0; column < figure.columns(); ++column)
            if (const float value = figure.valueAt({row, column}); !std::isnan(value))
                largest = std::max(largest, std::abs(value));
    return largest;
}

void openLinear(LabWindow& lab) {
    auto* linear = lab.window().findChild<LinearLayerView*>();
    REQUIRE(linear);
    lab.find<QTabWidget>("playViews").setCurrentWidget(linear);
    REQUIRE(lab.waitFor([&] { return !lab.find<MatrixView>("linear.static").figure().isEmpty(); }));
}

} // namespace

TEST_CASE("lab: another input changes the weight of attention and not that of a static layer", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "heads=multi_head(2), mask=causal");
    openLinear(lab);
    CHECK(lab.find<MatrixView>("linear.dynamicChange").figure().isEmpty()); // there is no input before
    const auto weight = [&](const char* name) { return lab.find<MatrixView>(name).figure().valueAt({9, 4}); };
    const float dynamic = weight("linear.dynamic"), fixed = weight("linear.static");
    CHECK(std::isnan(lab.find<MatrixView>("linear.static").figure().valueAt({4, 9}))); // it has the same mask
    QTest::mouseClick(&lab.find<QPushButton>("drawInput"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return !lab.find<MatrixView>("linear.dynamicChange").figure().isEmpty(); }));
    CHECK(weight("linear.dynamic") != dynamic);
    CHECK(weight("linear.static") == fixed);
    CHECK(largestIn(lab, "linear.dynamicChange") > 0.1f);
    CHECK(largestIn(lab, "linear.staticChange") == 0);
    CHECK(weight("linear.dynamicChange") == Approx(weight("linear.dynamic") - dynamic));
    CHECK(lab.find<QLabel>("linearSummary").text().contains("W by at most 0."));
    type(lab.find<QLineEdit>("specText"), "normaliser=xcit"); // channels attend to channels
    CHECK(lab.waitFor([&] { return lab.find<MatrixView>("linear.dynamic").figure().note.contains("no weights"); }));
}

TEST_CASE("lab: a longer prompt changes the weight of attention and not that of a static layer", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog. She loved her");
    REQUIRE(opens(lab));
    auto& kind = lab.find<QComboBox>("playInput");
    kind.setFocus();
    QTest::keyClick(&kind, Qt::Key_Home);
    QTest::keyClick(&kind, Qt::Key_Down); // the sentence
    REQUIRE(lab.waitFor([&] { return shown(lab).query.layer != nullptr && !shown(lab).maps.empty(); }));
    openLinear(lab);
    CHECK_FALSE(lab.find<QPushButton>("drawInput").isVisible());
    lab.window().bridge().post(SetPromptCommand{{.text = "Tom saw a big red ball. He wanted to play"}});
    REQUIRE(lab.waitFor([&] { return !lab.find<MatrixView>("linear.dynamicChange").figure().isEmpty(); }));
    CHECK(largestIn(lab, "linear.dynamicChange") > 0.05f);
    CHECK(largestIn(lab, "linear.staticChange") == 0);
}
