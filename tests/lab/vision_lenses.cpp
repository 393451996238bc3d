#include "app/lab/panels/head_kinds_panel.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "engine/analysis/head_kinds.h"
#include "engine/analysis/input_attribution.h"
#include "engine/inference/vision_model.h"
#include "tests/lab/lens_test.h"
#include "tests/lab/vision_test.h"

using namespace attn;

namespace {

/// Opens a vision model, with its own picture or the built-in one, and shows a panel.
void openBeside(LabWindow& lab, const QString& model, const char* panel) {
    REQUIRE(lab.settle());
    lab.window().files().open(model);
    REQUIRE(lab.waitFor([&] {
        const auto& shown = lab.snapshot();
        return shown.answer && model.endsWith(QString::fromStdString(shown.model->name)) && input(lab).isVisible();
    }));
    lab.showPanel(panel);
}

void openLens(LabWindow& lab, const QString& model, const char* lens) {
    openBeside(lab, model, "lenses");
    auto& page = lab.find<QComboBox>("lensPage");
    page.setCurrentIndex(page.findData(lens));
    REQUIRE(lab.settle());
}

QString golden(const char* name) { return QString::fromStdString((test::kGoldenRoot / name).string()); }

QStringList columnOf(const QTreeWidget& table, int column) {
    QStringList texts;
    for (int row = 0; row < table.topLevelItemCount(); ++row) texts << table.topLevelItem(row)->text(column);
    return texts;
}

/// @return {"2", "3"} for "L2 H3"
QStringList placeOf(const QString& head) { return head.mid(1).split(" H"); }

/// A click on a column's title.
void sortBy(QTreeWidget& table, int column) {
    QHeaderView& header = *table.header();
    const QPoint at(header.sectionViewportPosition(column) + header.sectionSize(column) / 2, header.height() / 2);
    QTest::mouseClick(header.viewport(), Qt::LeftButton, {}, at);
}

} // namespace

TEST_CASE("lab: kinds of heads are listed, sorted by a click, and lead to where a head looks", "[lab][vision]") {
    LabWindow lab;
    openBeside(lab, "builtin:vit-fashion", "kinds");
    auto& table = lab.find<QTreeWidget>("kindHeads");
    REQUIRE(lab.waitFor([&] { return table.topLevelItemCount() > 0; }));
    CHECK(table.isVisible());

    // As the engine finds them.
    VisionModel model(openModelSource("builtin:vit-fashion"), {.device = {.softwareThreads = 0}});
    const std::vector<float> patches = model.patchesOf(*setup(lab).given.image);
    const auto result = HeadDetectionAnalysis{}.run(model, {.input = patches});
    const auto& heads = static_cast<const HeadDetection&>(*result).heads;
    REQUIRE(table.topLevelItemCount() == static_cast<int>(heads.size()));
    sortBy(table, 0);
    for (int row = 0; row < table.topLevelItemCount(); ++row) {
        const HeadScores& head = heads[static_cast<size_t>(row)];
        const QTreeWidgetItem& item = *table.topLevelItem(row);
        CHECK(item.text(0) == QStringLiteral("L%1 H%2").arg(head.site).arg(head.head));
        CHECK(item.text(1) == QString::fromStdString(head.title()));
        CHECK(item.toolTip(0).contains("neighbours"));
    }
    sortBy(table, 0);
    CHECK(columnOf(table, 0).front() == QStringLiteral("L%1 H%2").arg(heads.back().site).arg(heads.back().head));

    // By kind they stand in groups, and those of none last.
    sortBy(table, 1);
    QStringList kinds = columnOf(table, 1);
    CHECK(kinds.contains("mixed"));
    CHECK(kinds.front() != "mixed");
    const QStringList all = kinds;
    kinds.removeDuplicates();
    for (const QString& kind : kinds) CHECK(all.lastIndexOf(kind) - all.indexOf(kind) + 1 == all.count(kind));
    CHECK(kinds.back() == "mixed");

    // A click shows that head in the panel and says why it is called so.
    const QTreeWidgetItem* first = table.topLevelItem(0);
    const QStringList place = placeOf(first->text(0));
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualItemRect(first).center());
    const QString said = lab.find<QLabel>("kindExplanation").text();
    const auto at = std::ranges::find_if(
        heads, [&](const HeadScores& head) { return head.site == place[0].toInt() && head.head == place[1].toInt(); });
    CHECK(said.contains(QString::fromStdString(at->finding(*at->kind()))));
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == place[0].toInt());
    CHECK(shownHead(lab) == place[1].toInt());
    QTest::keyClick(&table, Qt::Key_Down);
    CHECK(shownHead(lab) == placeOf(table.topLevelItem(1)->text(0)).back().toInt());

    // Heads like the one that is selected: itself first, then by falling likeness.
    const QString own = table.currentItem()->text(0);
    lab.click("kindAlike");
    const auto& found = static_cast<const HeadDetection&>(*result);
    std::vector<float> falling{1}; // itself
    for (const SimilarHead& each :
         similarHeads(found, found.indexOf(placeOf(own).front().toInt(), placeOf(own).back().toInt()), found))
        falling.push_back(each.similarity);
    CHECK_FALSE(table.isColumnHidden(4));
    CHECK(table.topLevelItem(0)->text(0) == own);
    CHECK(table.topLevelItem(0)->text(4) == "100 %");
    for (int row = 0; row < table.topLevelItemCount(); ++row)
        CHECK(table.topLevelItem(row)->text(4) ==
              QStringLiteral("%1 %").arg(qRound(falling[static_cast<size_t>(row)] * 100)));

    // Once more on the same head: groups again, and back.
    lab.click("kindAlike");
    CHECK(table.isColumnHidden(4));
    CHECK_FALSE(table.isColumnHidden(3));
    CHECK(table.currentItem()->text(0) == own);
    CHECK(columnOf(table, 3).back() == QStringLiteral("–")); // those that are alone come last
    lab.click("kindAlike");
    CHECK(table.topLevelItem(0)->text(0) == own);

    // Another picture: the head that was selected stays so.
    const QString selected = table.currentItem()->text(0);
    input(lab).openPicture(lab.find<QComboBox>("pictureChoice").itemData(1).toString());
    REQUIRE(lab.waitFor([&] {
        const auto& shown = lab.snapshot();
        const auto known = shown.analyses.find("head_kinds");
        return shown.answer && known != shown.analyses.end() && known->second->inputVersion == shown.sequenceVersion;
    }));
    REQUIRE(table.currentItem());
    CHECK(table.currentItem()->text(0) == selected);
    CHECK(lab.find<HeadKindsPanel>("kinds").numbers().csv().startsWith("layer,head,kind,down,right,itself"));
    CHECK(lab.find<HeadKindsPanel>("kinds").numbers().arrays().back().values.size() ==
          heads.size() * heads.front().kinds.size());
    CHECK(table.topLevelItem(0)->text(4) == "100 %"); // compared with itself on the new picture

    // Another model: its heads are compared with that head of the first one.
    lab.window().files().open("builtin:vit-shapes");
    REQUIRE(
        lab.waitFor([&] { return table.topLevelItemCount() > 0 && table.topLevelItemCount() != int(heads.size()); }));
    CHECK_FALSE(table.isColumnHidden(4));
    CHECK(table.topLevelItem(0)->text(4).endsWith('%'));
    const QString place2 = lab.find<QLabel>("kindExplanation").text();
    CHECK(place2.contains("vit-fashion"));
}

TEST_CASE("lab: in a model that merges tokens a cell of the patching lens changes the layer's own token",
          "[lab][vision]") {
    LabWindow lab;
    openLens(lab, golden("swin"), "patching");
    auto& other = lab.find<QComboBox>("interventionOther");
    other.setCurrentIndex(2);
    emit other.activated(2);
    runLens(lab);
    auto& matrix = lab.find<MatrixView>("lensMatrix");
    REQUIRE(lab.waitFor([&] { return matrix.figure().rows() == 4; }));
    CHECK(matrix.figure().columns() == 64);
    CHECK(lab.find<QLabel>("lensSummary").text().contains("a token of several patches", Qt::CaseInsensitive));
    CHECK(matrix.figure().valueAt({2, 0}) == matrix.figure().valueAt({2, 9})); // of the same four patches
    for (int row = 0; row <= 2; ++row) QTest::keyClick(&matrix, Qt::Key_Down);
    for (int column = 1; column <= 27; ++column) QTest::keyClick(&matrix, Qt::Key_Right);
    REQUIRE(matrix.figure().selected == MatrixCell{2, 27}); // row 3, column 3 of the patches
    QTest::keyClick(&matrix, Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return changes(lab).valueChanges.size() == 1; }));
    const ValueChange& change = changes(lab).valueChanges.front();
    CHECK(change.hook == "blocks.2.hook_resid_pre");
    CHECK(change.position == 5); // row 1, column 1 of 4 x 4
    REQUIRE(lab.waitFor([&] { return lab.snapshot().originalAnswer && !lab.snapshot().failure; }));
}

TEST_CASE("lab: lenses and head kinds of a picture show what a gate changes", "[lab][vision]") {
    LabWindow lab;
    openLens(lab, golden("vit"), "gradients");
    lab.closeGate(1, 2, 0);
    REQUIRE(lab.settle());
    lab.press(lab.action("showDifference"));
    const auto& summary = lab.find<QLabel>("lensSummary");
    REQUIRE(lab.waitFor([&] { return summary.text().contains("Original:"); }));
    // Each patch has the difference of its two numbers.
    const auto resultOf = [&](const auto& results) {
        return static_cast<const InputAttribution&>(*results.at(InputAttributionAnalysis{}.key())).integratedGradients;
    };
    const std::vector<float> after = resultOf(lab.snapshot().analyses),
                             before = resultOf(lab.snapshot().originalAnalyses);
    const std::vector<float>& shown = lab.find<PatchOverlayView>("lensPicture").figure().values();
    REQUIRE(shown.size() == after.size());
    double largest = 0;
    for (size_t patch = 0; patch < shown.size(); ++patch) {
        CHECK(shown[patch] == Approx(after[patch] - before[patch]).margin(1e-6));
        largest = std::max(largest, std::abs(static_cast<double>(shown[patch])));
    }
    CHECK(largest > 1e-4);

    lab.showPanel("kinds");
    auto& table = lab.find<QTreeWidget>("kindHeads");
    REQUIRE(lab.waitFor([&] { return table.topLevelItemCount() > 0; }));
    table.setCurrentItem(table.topLevelItem(0));
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("kindExplanation").text().contains("Original:"); }));
}
