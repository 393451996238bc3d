#include "app/figures/head_overlays_figure.h"
#include "app/figures/vision_figures.h"
#include "app/lab/bridge/vision_bridge.h"
#include "app/lab/panels/vision_comparison.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/pointed_view.h"
#include "engine/io/decode_image.h"
#include "tests/lab/lab_window.h"
#include "tests/lab/vision_test.h"
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

/// The small model of the goldens with the built-in picture.
bool opensVit(LabWindow& lab) {
    REQUIRE(lab.settle());
    lab.window().open(QString::fromStdString((test::kGoldenRoot / "vit").string()));
    return lab.waitFor(
        [&] {
            const auto& shown = *panel(lab).shown();
            return shown.answer && shown.model->name == "vit" && panel(lab).isVisible();
        },
        120'000);
}

void clickHead(LabWindow& lab, int layer, int head) {
    auto& heads = lab.find<PointedView>("visionHeads");
    const auto& figure = static_cast<const HeadOverlaysFigure&>(*heads.figure());
    const QRectF at = figure.overlayRect(layer * figure.heads + head, heads.rect(), heads.theme());
    QTest::mouseClick(&heads, Qt::LeftButton, {}, at.center().toPoint());
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
    const std::vector<float>& pattern = shown.answer->patterns[0].values;
    const std::vector<NumberArray> numbers = panel(lab).numbers().arrays();
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
    const auto fromCls = panel(lab).numbers().arrays()[0].values;
    QTest::mouseMove(&overlay, centreOf(overlay, 5));
    REQUIRE(lab.waitFor([&] { return overlay.figure().hovered == 5; }));
    CHECK(panel(lab).numbers().arrays()[0].values != fromCls);
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, centreOf(overlay, 5));
    CHECK(overlay.figure().marked == 5);
    QTest::keyClick(&overlay, Qt::Key_Right);
    CHECK(overlay.figure().marked == 6);
    QTest::mouseMove(&overlay, QPoint(1, 1));
    auto& back = lab.find<QPushButton>("visionFrom");
    REQUIRE(back.isEnabled());
    QTest::mouseClick(&back, Qt::LeftButton);
    CHECK_FALSE(overlay.figure().marked);
    REQUIRE(lab.waitFor([&] { return panel(lab).numbers().arrays()[0].values == fromCls; }));
}

TEST_CASE("lab: a head's thumbnail enlarges it, and rollout goes through all layers", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    auto& heads = lab.find<PointedView>("visionHeads");
    clickHead(lab, 0, 1);
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 0);
    CHECK(lab.find<QComboBox>("visionHead").currentData().toInt() == 1);
    QTest::keyClick(&heads, Qt::Key_Down);
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 1);
    auto& view = lab.find<QComboBox>("visionView");
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_Down);
    CHECK(lab.find<QComboBox>("visionFusion").isVisible());
    CHECK_FALSE(lab.find<QComboBox>("visionHead").isVisible());
    const auto rolled = panel(lab).numbers().arrays()[0].values;
    const auto& map = panel(lab).shown()->rollout->values;
    for (size_t patch = 0; patch < rolled.size(); ++patch) CHECK(rolled[patch] == map[patch + 1]);
    auto& fusion = lab.find<QComboBox>("visionFusion");
    fusion.setFocus();
    QTest::keyClick(&fusion, Qt::Key_Down);
    REQUIRE(lab.waitFor([&] { return panel(lab).numbers().arrays()[0].values != rolled; }));
}

TEST_CASE("lab: a Swin Transformer shows its stages, each with its own heads and tokens", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(lab.settle());
    lab.window().open(QString::fromStdString((test::kGoldenRoot / "swin").string()));
    REQUIRE(
        lab.waitFor([&] { return panel(lab).shown()->answer && panel(lab).shown()->model->name == "swin"; }, 120'000));
    CHECK(lab.find<QLabel>("visionModel").text().contains("4 layers of 2 to 4 heads"));
    auto& overlay = lab.find<PatchOverlayView>("visionOverlay");
    clickHead(lab, 0, 3); // there are two
    CHECK(lab.find<QComboBox>("visionHead").currentData().toInt() != 3);
    clickHead(lab, 3, 3);
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 3);
    CHECK(lab.find<QComboBox>("visionHead").currentData().toInt() == 3);
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, centreOf(overlay, 9)); // row 1, column 1 of 8 x 8: token 0 of 4 x 4
    const SitePattern& pattern = panel(lab).shown()->answer->patterns[3];
    const auto& shown = overlay.figure();
    REQUIRE(shown.tokens == pattern.layout.tokenOf);
    const std::vector<float> values = panel(lab).numbers().arrays()[0].values;
    for (size_t patch = 0; patch < values.size(); ++patch)
        CHECK(values[patch] == pattern.values[3 * 16 * 16 + static_cast<size_t>(pattern.layout.tokenOf[patch])]);
    clickHead(lab, 0, 1);
    CHECK(overlay.figure().tokens.empty()); // as many tokens as patches
    for (const int page : {1, 2, 3}) {      // distances, positions, filters
        lab.find<QComboBox>("visionBeside").setCurrentIndex(page);
        REQUIRE(lab.settle());
    }
    CHECK(lab.find<QLabel>("visionModel").isVisible());
}

TEST_CASE("lab: the pictures of a folder are offered by name, and arrows go through them", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    const auto before = panel(lab).setup().picture;
    const std::filesystem::path folder = (lab.folder() + "/album").toStdString();
    panel(lab).openPictures(QString::fromStdString(folder.string()));
    REQUIRE(reads(lab));
    CHECK(lab.find<QLabel>("visionMessage").text().contains("contains no pictures"));
    std::filesystem::create_directories(folder);
    for (const uint8_t grey : {10, 90, 240})
        writePpm(folder / (std::to_string(100 + grey) + ".ppm"),
                 {.height = 16, .width = 16, .rgb = std::vector<uint8_t>(768, grey)});
    panel(lab).openPictures(QString::fromStdString(folder.string()));
    REQUIRE(reads(lab));
    CHECK(panel(lab).setup().picture->rgb.front() == 10);
    auto& pictures = lab.find<QComboBox>("visionPicture");
    CHECK(pictures.currentText() == "110.ppm");
    pictures.setFocus();
    QTest::keyClick(&pictures, Qt::Key_Down);
    REQUIRE(reads(lab));
    CHECK(panel(lab).setup().picture->rgb.front() == 90);
    QTest::keyClick(&pictures, Qt::Key_Down);
    REQUIRE(reads(lab));
    CHECK(panel(lab).setup().picture->rgb.front() == 240);
    lab.press(lab.action("undo")); // what was gone through is one change
    CHECK(panel(lab).setup().picture == before);
    CHECK(pictures.findText("From a folder…") > 0);
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
    REQUIRE(reads(lab));
    CHECK(lab.find<QLabel>("visionMessage").isVisible());
    CHECK(lab.find<QLabel>("visionMessage").text().contains("broken.png"));
    CHECK(panel(lab).setup() == before);
}

TEST_CASE("lab: clicking a class rolls attention out by its gradient", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    auto& answers = lab.find<QTreeWidget>("visionAnswers");
    const auto& weighted = lab.find<QComboBox>("visionWeighted");
    CHECK(weighted.count() == panel(lab).shown()->model->classes + 1);
    const QTreeWidgetItem* second = answers.topLevelItem(1);
    const int label = second->data(0, Qt::UserRole).toInt();
    const QRect row = answers.visualItemRect(second);
    const QString name = second->text(0); // the list is made anew
    QTest::mouseClick(answers.viewport(), Qt::LeftButton, {}, row.center());
    REQUIRE(lab.waitFor([&] { return panel(lab).shown()->query.rolloutClass == label; }, 120'000));
    CHECK(weighted.currentData().toInt() == label);
    CHECK_FALSE(lab.find<QComboBox>("visionFusion").isEnabled());
    const auto relevance = panel(lab).numbers().arrays()[0].values;
    const auto& map = panel(lab).shown()->rollout->values;
    for (size_t patch = 0; patch < relevance.size(); ++patch) CHECK(relevance[patch] == map[patch + 1]);
    CHECK(lab.find<PatchOverlayView>("visionOverlay").figure().title.contains(name));
    // By keyboard: the next class, then back to no class.
    answers.setCurrentItem(answers.topLevelItem(1));
    answers.setFocus();
    QTest::keyClick(&answers, Qt::Key_Down);
    QTest::keyClick(&answers, Qt::Key_Return);
    REQUIRE(lab.waitFor(
        [&] { return panel(lab).shown()->query.rolloutClass && panel(lab).shown()->query.rolloutClass != label; },
        120'000));
    CHECK(panel(lab).numbers().arrays()[0].values != relevance);
    lab.find<QComboBox>("visionWeighted").setCurrentIndex(0);
    REQUIRE(lab.waitFor([&] { return !panel(lab).shown()->query.rolloutClass; }));
    CHECK(lab.find<QComboBox>("visionFusion").isEnabled());
}

TEST_CASE("lab: a dot of attention distance chooses its head, also by keyboard", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    auto& beside = lab.find<QComboBox>("visionBeside");
    beside.setFocus();
    QTest::keyClick(&beside, Qt::Key_Down);
    auto& view = lab.find<PointedView>("visionDistance");
    REQUIRE(lab.waitFor([&] { return view.isVisible(); }));
    const auto& figure = dynamic_cast<const DistanceFigure&>(*view.figure());
    CHECK(figure.distances == panel(lab).shown()->answer->distances);
    const QPointF dot = figure.dot(figure.itemOf(0, 2), figure.plot(view.rect(), view.theme()));
    QTest::mouseMove(&view, dot.toPoint());
    REQUIRE(lab.waitFor([&] { return view.figure()->hovered == 2; }));
    CHECK(view.accessibleDescription().startsWith("Layer 0, head 2: "));
    QTest::mouseClick(&view, Qt::LeftButton, {}, dot.toPoint());
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 0);
    CHECK(lab.find<QComboBox>("visionHead").currentData().toInt() == 2);
    QTest::keyClick(&view, Qt::Key_Right);
    CHECK(lab.find<QSpinBox>("visionLayer").value() == 1);
    CHECK(lab.find<QComboBox>("visionHead").currentData().toInt() == 2);
    CHECK(panel(lab).numbers().csv().startsWith("layer,head,pixels\r\n")); // what is exported is what is in front
}

TEST_CASE("lab: positions and filters are read when they are looked at", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    CHECK_FALSE(panel(lab).shown()->embedding);
    auto& beside = lab.find<QComboBox>("visionBeside");
    beside.setCurrentIndex(2);
    auto& positions = lab.find<PointedView>("visionPositions");
    REQUIRE(lab.waitFor([&] { return positions.figure()->items() == 16; }));
    REQUIRE(lab.settle());
    QTest::keyClick(&positions, Qt::Key_Down);
    QTest::keyClick(&positions, Qt::Key_Down);
    CHECK(lab.find<PatchOverlayView>("visionOverlay").figure().marked.value_or(-1) ==
          4); // the same patch in the picture
    CHECK(positions.accessibleDescription().toStdString() == "Patch 1, 0");
    beside.setCurrentIndex(3);
    auto& filters = lab.find<PointedView>("visionFilters");
    CHECK(filters.figure()->items() == 23); // 24 filters about their mean
    CHECK(panel(lab).numbers().arrays()[0].shape == std::vector<int64_t>{23, 3, 4, 4});
    lab.find<QComboBox>("visionFilterKind").setCurrentIndex(1);
    CHECK(filters.figure()->items() == 24);
    CHECK(panel(lab).numbers().arrays()[0].values == panel(lab).shown()->embedding->rawFilters);
}

TEST_CASE("lab: another picture and another model stand beside the first, with what differs", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(opensVit(lab));
    lab.find<QComboBox>("visionBeside").setCurrentIndex(4);
    auto& comparison = *panel(lab).findChild<VisionComparison*>();
    const auto& map = lab.find<PatchOverlayView>("visionSecond");
    const auto& difference = lab.find<PatchOverlayView>("visionDifference");
    CHECK_FALSE(map.isVisible());
    comparison.compareWith("picture:stripes");
    REQUIRE(lab.waitFor([&] { return comparison.second()->answer != nullptr && map.isVisible(); }, 120'000));
    const auto differs = [&] {
        const auto first = lab.find<PatchOverlayView>("visionOverlay").figure().numbers()[0].values,
                   second = map.figure().numbers()[0].values, found = difference.figure().numbers()[0].values;
        for (size_t i = 0; i < first.size(); ++i)
            if (found[i] != first[i] - second[i]) return false;
        return first != second;
    };
    CHECK(differs());
    lab.find<QSpinBox>("visionLayer").setValue(0);
    CHECK(differs()); // both follow the view
    CHECK(lab.find<QTreeWidget>("visionBoth").isVisible());
    CHECK(lab.find<QTreeWidget>("visionBoth").topLevelItemCount() >= 5);
    // A model with other labels, and as many patches.
    comparison.compareWith("model:" + QString::fromStdString((test::kGoldenRoot / "deit").string()));
    REQUIRE(lab.waitFor(
        [&] {
            return comparison.second()->model && comparison.second()->model->name == "deit" &&
                   comparison.second()->answer;
        },
        120'000));
    CHECK(comparison.second()->query.picture == panel(lab).setup().picture);
    CHECK(differs());
    // One that cuts another grid has no difference, and one that is none a sentence.
    comparison.compareWith("model:" + QString::fromStdString((test::kGoldenRoot / "vit_features").string()));
    REQUIRE(lab.waitFor(
        [&] {
            return comparison.second()->model && comparison.second()->model->name == "vit_features" &&
                   comparison.second()->answer;
        },
        120'000));
    CHECK(map.isVisible());
    CHECK_FALSE(difference.isVisible());
    comparison.compareWith("model:/no/such/folder");
    REQUIRE(lab.waitFor([&] { return comparison.second()->failure.has_value(); }, 120'000));
    CHECK(lab.find<QLabel>("visionCompareText").text().contains("/no/such/folder"));
    comparison.compareWith({});
    CHECK_FALSE(map.isVisible());
    CHECK(panel(lab).shown()->answer);
}

} // namespace attn
