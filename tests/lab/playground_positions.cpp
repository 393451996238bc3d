#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/position_view.h"
#include "tests/lab/playground_test.h"

using namespace attn;

namespace {

bool showsPosition(LabWindow& lab, const char* id) {
    return lab.waitFor([&] {
        const auto& positions = shown(lab).positions;
        return positions && positions->query.spec.parts.at(Slot::Position).id == id;
    });
}

void choose(LabWindow& lab, const char* id) {
    auto& choice = lab.find<QComboBox>("slot.position");
    choice.setFocus();
    QTest::keyClick(&choice, Qt::Key_Home);
    for (int i = 0; i < choice.count() && choice.currentData().toString() != id; ++i)
        QTest::keyClick(&choice, Qt::Key_Down);
}

} // namespace

TEST_CASE("lab: the positions tab shows what the chosen part does, also beyond the trained length", "[lab]") {
    PlaygroundWindow lab;
    lab.find<QTabWidget>("playViews").setCurrentIndex(3);
    REQUIRE(showsPosition(lab, "alibi"));
    const auto& added = lab.find<LinesView>("positionAdded");
    REQUIRE(lab.waitFor([&] { return added.isVisible(); }));
    CHECK(added.figure().lines.size() == 4);
    CHECK(added.figure().places() == 64);
    CHECK(added.figure().beyond == 32);
    CHECK(lab.find<LinesView>("positionSlopes").figure().lines.front().values.size() == 4);
    CHECK_FALSE(lab.find<QWidget>("positionRotation").isVisible());
    const auto& title = lab.find<QLabel>("positionTitle");
    CHECK(title.text() == "ALiBi");

    choose(lab, "rope");
    REQUIRE(showsPosition(lab, "rope"));
    REQUIRE(lab.waitFor([&] { return lab.find<QWidget>("positionRotation").isVisible(); }));
    CHECK_FALSE(added.isVisible());

    choose(lab, "sinusoidal");
    REQUIRE(showsPosition(lab, "sinusoidal"));
    const auto& encodings = lab.find<MatrixView>("positionEncodings");
    REQUIRE(lab.waitFor([&] { return encodings.isVisible(); }));
    CHECK(encodings.figure().rows() == 64);
    CHECK(encodings.figure().note.contains("from 32 on"));
    CHECK(lab.find<LinesView>("positionWaves").figure().lines.size() == 6);
    CHECK(lab.find<QLabel>("positionTitle").text().contains("Sinusoidal"));
    choose(lab, "learned");
    REQUIRE(showsPosition(lab, "learned"));
    CHECK(lab.waitFor([&] { return title.text().startsWith("Learned\n") && title.text().contains("not trained"); }));
    lab.find<QCheckBox>("compare").click(); // B is edited next
    CHECK(lab.waitFor([&] { return title.text().startsWith("B: Learned."); }));
    lab.find<QTabBar>("whichSpec").setCurrentIndex(0);
    CHECK(lab.waitFor([&] { return title.text().startsWith("A: Learned."); }));

    auto& similarity = lab.find<LinesView>("positionSimilarity");
    QTest::mouseMove(&similarity, similarity.figureLayout().plot.center().toPoint());
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("positionReading").text().contains("distance"); }));
}
