#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/paths_view.h"
#include "tests/lab/playground_test.h"

using namespace attn;

namespace {

void setTokens(LabWindow& lab, int tokens) {
    for (QDoubleSpinBox* box : lab.find<QWidget>("playInputs").findChildren<QDoubleSpinBox*>())
        if (box->accessibleName() == "Tokens") box->setValue(tokens);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.tokens == tokens; }));
}

bool showsPath(LabWindow& lab, AttentionPath path) {
    return lab.waitFor([&] { return shown(lab).query.path == path && shown(lab).paths.has_value(); }) && lab.settle();
}

} // namespace

TEST_CASE("lab: the tiles tab shows what both paths move, and forms the pattern on demand", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "heads=multi_head(2), mask=causal");
    setTokens(lab, 64);
    auto* paths = lab.window().findChild<PathsView*>();
    REQUIRE(paths);
    lab.find<QTabWidget>("playViews").setCurrentWidget(paths);
    REQUIRE(showsPath(lab, AttentionPath::Tiled));
    const auto& bytes = lab.find<LinesView>("pathBytes");
    REQUIRE(lab.waitFor([&] { return bytes.isVisible(); }));
    const PathTraffic traffic = shown(lab).paths->traffic;
    const std::vector<float>& bars = bytes.figure().lines.front().values;
    REQUIRE(bars.size() == 4);
    CHECK(bars[0] == Approx(traffic.tiles.read / 1024));
    CHECK(bars[3] == Approx(traffic.formed.written / 1024));
    CHECK(bars[2] + bars[3] > bars[0] + bars[1]);
    const auto isSeen = [&](const char* name) { return lab.find<QWidget>(name).isVisible(); };
    CHECK(isSeen("path.tiles.walked"));
    CHECK(isSeen("path.tiles.sum"));
    CHECK_FALSE(isSeen("path.pattern"));
    CHECK(lab.find<QLabel>("pathSummary").text().contains("by tiles"));

    auto& button = lab.find<QPushButton>("switchPath");
    CHECK(button.text() == "Form the pattern");
    QTest::mouseClick(&button, Qt::LeftButton);
    REQUIRE(showsPath(lab, AttentionPath::Formed));
    CHECK(lab.waitFor([&] { return isSeen("path.pattern") && !isSeen("path.tiles.sum"); }));
    CHECK(button.text() == "Walk over tiles");
    CHECK(lab.find<QLabel>("pathSummary").text().contains("from the formed pattern"));
    CHECK(lab.find<MatrixView>("path.pattern").figure().rows() == 64);

    type(lab.find<QLineEdit>("specText"), "normaliser=linear, mask=causal");
    CHECK(lab.waitFor([&] { return lab.find<QLabel>("pathSummary").text().startsWith("The fused kernel cannot"); }));
    CHECK_FALSE(button.isVisible());
}
