#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/position_view.h"
#include "app/lab/widgets/tree_view.h"
#include "tests/lab/playground_test.h"
#include "tests/support/hover.h"

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
    lab.find<QTabWidget>("playViews").setCurrentIndex(4);
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
    CHECK(lab.waitFor([&] { return title.text().startsWith("Learned\n") && title.text().contains("initial values"); }));
    lab.find<QCheckBox>("compare").click(); // B is edited next
    CHECK(lab.waitFor([&] { return title.text().startsWith("B: Learned."); }));
    lab.find<QTabBar>("whichSpec").setCurrentIndex(0);
    CHECK(lab.waitFor([&] { return title.text().startsWith("A: Learned."); }));

    auto& similarity = lab.find<LinesView>("positionSimilarity");
    hover(similarity, similarity.figureLayout().plot.center().toPoint());
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("positionReading").text().contains("distance"); }));
}

TEST_CASE("lab: a dependency tree is drawn over the words, and a list that is no tree is explained", "[lab]") {
    PlaygroundWindow lab;
    lab.find<QTabWidget>("playViews").setCurrentIndex(4);
    choose(lab, "dependency_tree");
    REQUIRE(showsPosition(lab, "dependency_tree"));
    const auto* tree = static_cast<const TreeView*>(&lab.find<QWidget>("positionTree"));
    const auto& relative = lab.find<MatrixView>("positionRelative");
    REQUIRE(lab.waitFor([&] { return tree->isVisible() && relative.isVisible(); }));
    CHECK(tree->figure().parents == std::vector<int>{1, 2, 2, 4, 2, 7, 7, 4});
    CHECK(relative.figure().valueAt({6, 4}) == 2);
    CHECK_FALSE(lab.find<QWidget>("positionSimilarity").isVisible());

    auto& line = lab.find<QLineEdit>("list.tree");
    CHECK(line.text() == "2 3 0 5 3 8 8 5");
    const auto write = [&](const char* text) {
        line.setFocus();
        line.selectAll();
        QTest::keyClicks(&line, text);
    };
    write("2, 0, 2");
    REQUIRE(lab.waitFor([&] { return tree->figure().parents == std::vector<int>{1, 1, 1}; }));
    CHECK(lab.find<QLineEdit>("specText").text().contains("dependency_tree(tree = 2, 0, 2)"));
    CHECK(line.text() == "2, 0, 2"); // as it was typed
    write("2 0 x");
    CHECK(lab.find<QLabel>("listError").text().startsWith("Write whole numbers from 0 to 1024"));
    write("2 3 1");
    CHECK(lab.find<QLabel>("listError").text().isEmpty());
    CHECK(lab.find<QLabel>("specProblem").text().contains("depends on itself"));
    lab.press(lab.action("undo"));
}
