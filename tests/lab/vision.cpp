#include "app/lab/panels/vision_panel.h"
#include "app/lab/widgets/head_overlays_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "tests/lab/lab_window.h"
#include "tests/models/vision_folder.h"
#include "tests/support/catch.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTreeWidget>

#include <numeric>

namespace attn {
namespace {

VisionPanel& panel(LabWindow& lab) {
    auto* found = lab.window().findChild<VisionPanel*>();
    REQUIRE(found);
    return *found;
}

/// The small model of the goldens with the built-in picture.
bool opensVit(LabWindow& lab) {
    REQUIRE(lab.settle());
    lab.window().open(QString::fromStdString((test::kGoldenRoot / "vit").string()));
    return lab.waitFor([&] { return panel(lab).shown()->answer != nullptr && panel(lab).isVisible(); }, 30'000);
}

QPoint centreOf(const PatchOverlayView& view, int patch) { return view.patchRect(patch).center().toPoint(); }

} // namespace

TEST_CASE("lab: opening a vision model shows where CLS looks, as the model has it", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    const auto& shown = *panel(lab).shown();
    const auto& overlay = lab.find<PatchOverlayView>("visionOverlay");
    auto& head = lab.find<QComboBox>("visionHead");
    head.setCurrentIndex(head.findData(1));
    lab.find<QSpinBox>("visionLayer").setValue(0);
    const auto tokens = static_cast<size_t>(shown.model->tokens());
    const std::vector<float>& pattern = shown.answer->patterns[0];
    const std::vector<NumberArray> numbers = panel(lab).numbers();
    REQUIRE(numbers.size() == 1);
    for (size_t patch = 0; patch + 1 < tokens; ++patch)
        CHECK(numbers[0].values[patch] == pattern[tokens * tokens + patch + 1]); // head 1, from CLS
    CHECK(overlay.figure().title.contains("CLS"));
    const auto& answers = lab.find<QTreeWidget>("visionAnswers");
    CHECK(answers.isVisible());
    CHECK(answers.topLevelItemCount() == shown.model->classes);
}

TEST_CASE("lab: pointing at a patch shows where it looks, clicking stays with it", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    auto& overlay = lab.find<PatchOverlayView>("visionOverlay");
    const auto fromCls = panel(lab).numbers()[0].values;
    QTest::mouseMove(&overlay, centreOf(overlay, 5));
    REQUIRE(lab.waitFor([&] { return overlay.figure().hovered == 5; }));
    CHECK(panel(lab).numbers()[0].values != fromCls);
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, centreOf(overlay, 5));
    CHECK(overlay.figure().marked == 5);
    QTest::keyClick(&overlay, Qt::Key_Right);
    CHECK(overlay.figure().marked == 6);
    QTest::mouseMove(&overlay, QPoint(1, 1));
    auto& back = lab.find<QPushButton>("visionFrom");
    REQUIRE(back.isEnabled());
    QTest::mouseClick(&back, Qt::LeftButton);
    CHECK_FALSE(overlay.figure().marked);
    REQUIRE(lab.waitFor([&] { return panel(lab).numbers()[0].values == fromCls; }));
}

TEST_CASE("lab: a head's thumbnail enlarges it, and rollout goes through all layers", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    auto& heads = lab.find<HeadOverlaysView>("visionHeads");
    QTest::mouseClick(&heads, Qt::LeftButton, {}, heads.cellRect(0, 1).center().toPoint());
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 0);
    CHECK(lab.find<QComboBox>("visionHead").currentData().toInt() == 1);
    QTest::keyClick(&heads, Qt::Key_Down);
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 1);
    auto& view = lab.find<QComboBox>("visionView");
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_Down);
    CHECK(lab.find<QComboBox>("visionFusion").isVisible());
    CHECK_FALSE(lab.find<QComboBox>("visionHead").isVisible());
    const auto rolled = panel(lab).numbers()[0].values;
    const auto& map = *panel(lab).shown()->rollout;
    for (size_t patch = 0; patch < rolled.size(); ++patch) CHECK(rolled[patch] == map[patch + 1]);
    auto& fusion = lab.find<QComboBox>("visionFusion");
    fusion.setFocus();
    QTest::keyClick(&fusion, Qt::Key_Down);
    REQUIRE(lab.waitFor([&] { return panel(lab).numbers()[0].values != rolled; }));
}

TEST_CASE("lab: dragging hides patches, the answer follows, and undo brings them back", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    const auto plain = panel(lab).shown()->answer->probabilities;
    auto& overlay = lab.find<PatchOverlayView>("visionOverlay");
    QTest::mouseClick(&lab.find<QCheckBox>("visionHide"), Qt::LeftButton);
    QTest::mousePress(&overlay, Qt::LeftButton, {}, centreOf(overlay, 0));
    QTest::mouseMove(&overlay, centreOf(overlay, 1));
    REQUIRE(lab.waitFor([&] { return panel(lab).setup().hidden.size() == 2; }));
    QTest::mouseRelease(&overlay, Qt::LeftButton, {}, centreOf(overlay, 1));
    CHECK(panel(lab).setup().hidden == std::vector<int>{0, 1});
    REQUIRE(lab.waitFor([&] {
        return panel(lab).shown()->query.hidden.size() == 2 && panel(lab).shown()->answer->probabilities != plain;
    }));
    CHECK_FALSE(lab.find<QTreeWidget>("visionAnswers").isColumnHidden(2));
    lab.press(lab.action("undo"));
    CHECK(panel(lab).setup().hidden.empty());
    REQUIRE(lab.waitFor([&] {
        return panel(lab).shown()->query.hidden.empty() && panel(lab).shown()->answer->probabilities == plain;
    }));
}

TEST_CASE("lab: a picture that cannot be read is a sentence, and what was shown stays", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    const auto before = panel(lab).setup();
    const QString path = lab.folder() + "/broken.png";
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write("\x89PNG\r\n\x1a\nthis is no picture");
    file.close();
    panel(lab).openPicture(path);
    CHECK(lab.find<QLabel>("visionMessage").isVisible());
    CHECK(lab.find<QLabel>("visionMessage").text().contains("broken.png"));
    CHECK(panel(lab).setup() == before);
}

} // namespace attn
