#include "app/figures/lens_pages.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "engine/inference/vision_model.h"
#include "tests/lab/lens_test.h"
#include "tests/lab/vision_test.h"
#include "tests/support/farthest.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

void press(LabWindow& lab, const char* name) {
    auto& button = lab.find<QPushButton>(name);
    REQUIRE(button.isEnabled());
    QTest::mouseClick(&button, Qt::LeftButton);
}

/// What the engine says of the panel's picture, changed by hand.
std::vector<float> logitsOf(LabWindow& lab, int layer, int head, float gate, const Changes& edits) {
    VisionModel model(openModelSource((test::kGoldenRoot / "vit").string()), {.device = {.softwareThreads = 0}});
    const GivenPicture& given = setup(lab).given;
    const std::vector<float> patches = model.patchesOf(*given.image);
    Changes all = edits;
    all.setGate(layer, head, gate);
    model.setChanges(all, patches, given.other ? std::optional<Input>(model.patchesOf(*given.other)) : std::nullopt);
    return model.predict(patches);
}

bool near(const std::vector<float>& a, const std::vector<float>& b) { return test::farthest(a, b) <= 1e-4; }

} // namespace

TEST_CASE("lab: a head of a vision model is closed by a click, a key and a slider, undone and reset", "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("interventions");
    const std::vector<float> whole = lab.snapshot().answer->logits;
    clickHead(lab, 0, 1);
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 0); // the picture follows
    CHECK(shownHead(lab) == 1);
    auto& heads = lab.find<PointedView>("headsPictures");
    QTest::keyClick(&heads, Qt::Key_Return);
    const std::vector<float> closed = logitsOf(lab, 0, 1, 0, {});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().originalAnswer && near(lab.snapshot().answer->logits, closed); }));
    CHECK(near(lab.snapshot().originalAnswer->logits, whole));
    CHECK(lab.find<QLabel>("interventionsTitle").text() == "The model runs with 1 change.");
    CHECK(lab.find<QTreeWidget>("interventionsEffect").topLevelItemCount() > 1);
    CHECK_FALSE(lab.find<QTreeWidget>("interventionsEffect").isColumnHidden(3));
    CHECK_FALSE(lab.find<QTreeWidget>("classes").isColumnHidden(2)); // what it changes
    CHECK(static_cast<const HeadOverlaysFigure&>(*heads.figure()).gates[1] == 0);
    CHECK(lab.find<QSlider>("gate").value() == 0);

    lab.find<QSlider>("interventionGate").setValue(50);
    const std::vector<float> half = logitsOf(lab, 0, 1, 0.5f, {});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && near(lab.snapshot().answer->logits, half); }));

    // The picture before, after, and the difference.
    const auto& overlay = lab.find<PatchOverlayView>("attentionPicture");
    lab.find<QSpinBox>("attentionLayer").setValue(1);
    const auto after = overlay.figure().numbers().front().values;
    auto& run = lab.find<QComboBox>("interventionsRun");
    run.setCurrentIndex(1);
    REQUIRE(lab.settle());
    const auto before = overlay.figure().numbers().front().values;
    CHECK(before != after);
    run.setCurrentIndex(2);
    REQUIRE(lab.settle());
    const auto difference = overlay.figure().numbers().front().values;
    CHECK(overlay.figure().isSigned);
    for (size_t patch = 0; patch < after.size(); ++patch)
        CHECK(difference[patch] == Approx(after[patch] - before[patch]).margin(1e-6));

    QTest::keyClick(&lab.window(), Qt::Key_Backspace, Qt::ControlModifier);
    REQUIRE(
        lab.waitFor([&] { return changes(lab).empty() && lab.snapshot().answer && !lab.snapshot().originalAnswer; }));
    CHECK(lab.snapshot().answer->logits == whole);
    CHECK(run.currentIndex() == 0);
    lab.window().workbench().undoStack().undo();
    CHECK(!changes(lab).empty());

    lab.window().workbench().restoreOriginal();
    lab.window().workbench().addChanges({{.hook = "blocks.0.attn.hook_z", .head = 1}}); // not by a gate
    REQUIRE(lab.settle());
    const auto& gates = static_cast<const HeadOverlaysFigure&>(*heads.figure()).gates;
    REQUIRE(gates.size() > 1);
    CHECK(gates[0] == 1);
    CHECK(gates[1] == 0);
}

TEST_CASE("lab: a value of another picture, a direction and a whole layer change what a picture is taken for",
          "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("interventions");
    auto& kind = lab.find<QComboBox>("interventionKind");
    auto& where = lab.find<QComboBox>("interventionWhere");
    auto& other = lab.find<QComboBox>("interventionOther");
    kind.setCurrentIndex(kind.findText("Replace with a picture's value"));
    lab.find<QComboBox>("interventionSource").setCurrentIndex(1);
    CHECK_FALSE(lab.find<QPushButton>("interventionAdd").isEnabled()); // there is no other picture yet
    other.setCurrentIndex(2);
    emit other.activated(2);
    REQUIRE(setup(lab).given.other);
    where.setCurrentIndex(where.findText("Residual stream before layer"));
    lab.find<QSpinBox>("interventionLayer").setValue(1);
    press(lab, "interventionAdd");
    // Every token of the stream is the other picture's: so is the answer.
    VisionModel model(openModelSource((test::kGoldenRoot / "vit").string()), {.device = {.softwareThreads = 0}});
    const std::vector<float> others = model.predict(model.patchesOf(*setup(lab).given.other));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && near(lab.snapshot().answer->logits, others); }));

    auto& list = lab.find<QTreeWidget>("interventionsList");
    CHECK(list.topLevelItemCount() == 1);
    CHECK(list.topLevelItem(0)->text(0).contains("residual stream before layer 1 replaced by its value from"));
    lab.find<QSlider>("interventionAmount").setValue(0); // of the one that is selected
    REQUIRE(lab.waitFor([&] {
        const auto& shown = lab.snapshot();
        return shown.answer && shown.originalAnswer && near(shown.answer->logits, shown.originalAnswer->logits);
    }));
    press(lab, "interventionsRemove");
    CHECK(list.topLevelItemCount() == 0);

    kind.setCurrentIndex(kind.findText("Remove"));
    where.setCurrentIndex(where.findText("Whole layer"));
    lab.find<QSpinBox>("interventionLayer").setValue(0);
    press(lab, "interventionAdd");
    CHECK(list.topLevelItemCount() == 1);
    CHECK(list.topLevelItem(0)->text(0) == "layer 0 removed");
    const std::vector<float> skipped =
        logitsOf(lab, 0, 0, 1, {{{.hook = "blocks.0.hook_attn_out"}, {.hook = "blocks.0.hook_mlp_out"}}, {}});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && near(lab.snapshot().answer->logits, skipped); }));

    kind.setCurrentIndex(kind.findText("Add a direction"));
    press(lab, "interventionAdd");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && !near(lab.snapshot().answer->logits, skipped); }));
    CHECK(list.topLevelItem(list.topLevelItemCount() - 1)->text(0).contains("added to"));

    // As a session file keeps it.
    lab.saveSession(lab.folder() + "/changed.attnlab");
    const Changes kept = changes(lab);
    const auto otherPicture = setup(lab).given.other;
    lab.press(lab.action("resetEdits"));
    input(lab).openOther({});
    REQUIRE(lab.settle());
    lab.window().files().openSession(lab.folder() + "/changed.attnlab");
    REQUIRE(lab.waitFor([&] { return !changes(lab).empty() && setup(lab).given.other; }));
    CHECK(changes(lab) == kept);
    CHECK(*setup(lab).given.other == *otherPicture);
}

TEST_CASE("lab: a restored vision view has its layer, head and class once its model has loaded", "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("interventions");
    lab.find<QSpinBox>("attentionLayer").setValue(1);
    lab.find<QSpinBox>("attentionHeadNumber").setValue(2);
    auto& weighted = lab.find<QComboBox>("attentionWeighted");
    REQUIRE(weighted.findData(3) >= 0);
    weighted.setCurrentIndex(weighted.findData(3));
    lab.saveSession(lab.folder() + "/view.attnlab");
    // A model without these heads and classes comes between.
    openGolden(lab, "deit");
    lab.find<QSpinBox>("attentionLayer").setValue(0);
    lab.window().files().openSession(lab.folder() + "/view.attnlab");
    REQUIRE(answers(lab, "vit"));
    REQUIRE(lab.settle());
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 1);
    CHECK(shownHead(lab) == 2);
    CHECK(weighted.currentData().toInt() == 3);
}

TEST_CASE("lab: a pattern of a vision model is pinned, levelled and painted on the picture", "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("interventions");
    auto& overlay = lab.find<PatchOverlayView>("interventionPicture");
    clickHead(lab, 1, 2);
    const auto patternOf = [&](size_t query, size_t key) {
        const auto& pattern = lab.snapshot().answer->patterns[1].values; // [3,17,17]
        return pattern[(2 * 17 + query) * 17 + key];
    };
    press(lab, "interventionPin"); // CLS, as nothing else is chosen
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && patternOf(9, 0) == 1; }));
    const auto centreOf = [&](int patch) { return overlay.patchRect(patch).center().toPoint(); };
    lab.layOut();
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, centreOf(4));
    press(lab, "interventionPin");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && patternOf(9, 5) == 1; }));
    press(lab, "interventionUniform");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && patternOf(9, 5) == Approx(1.0 / 17); }));
    press(lab, "interventionOwn");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && changes(lab).empty(); }));

    press(lab, "interventionPaint");
    hover(overlay, centreOf(6)); // which does not make it the one that looks
    QTest::mousePress(&overlay, Qt::LeftButton, {}, centreOf(6));
    hover(overlay, centreOf(7));
    QTest::mouseRelease(&overlay, Qt::LeftButton, {}, centreOf(7));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && patternOf(5, 7) == 0.5f && patternOf(5, 8) == 0.5f; }));
    CHECK(patternOf(6, 7) != 0.5f); // another query keeps its own row
    CHECK(overlay.figure().numbers().front().values[6] == 0.5f);
    lab.window().workbench().undoStack().undo();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && changes(lab).empty(); }));
}

TEST_CASE("lab: every lens on a picture answers, follows it, and its cells change the model", "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("interventions");
    auto& other = lab.find<QComboBox>("interventionOther");
    other.setCurrentIndex(2);
    emit other.activated(2);
    lab.showPanel("lenses");
    auto& page = lab.find<QComboBox>("lensPage");
    const std::span<const LensPage> known = lensPages();
    REQUIRE(page.count() == static_cast<int>(known.size()));
    for (int at = 0; at < page.count(); ++at) {
        INFO(page.itemText(at).toStdString());
        page.setCurrentIndex(at);
        REQUIRE(lab.settle());
        if (page.currentData() == "spans") {
            REQUIRE(lensRefuses(lab, kNoSpans));
            continue;
        }
        if (!known[static_cast<size_t>(at)].isQuick) runLens(lab);
        REQUIRE(lab.waitFor([&] { return !lab.find<QLabel>("lensSummary").text().isEmpty(); }));
        const bool hasFigure = lab.find<MatrixView>("lensMatrix").isVisible() ||
                               lab.find<QWidget>("lensBars").isVisible() ||
                               lab.find<PatchOverlayView>("lensPicture").isVisible();
        CHECK(hasFigure);
    }
    // The last one, patching: a cell is taken over as a change.
    auto& matrix = lab.find<MatrixView>("lensMatrix");
    REQUIRE(matrix.figure().rows() == 2);
    lab.layOut();
    const auto cell = matrix.figureLayout().cellRect({1, 3}).center().toPoint();
    QTest::mouseClick(&matrix, Qt::LeftButton, {}, cell); // of a double click QTest sends the second alone
    QTest::mouseDClick(&matrix, Qt::LeftButton, {}, cell);
    REQUIRE(lab.waitFor([&] { return changes(lab).valueChanges.size() == 1; }));
    const ValueChange& change = changes(lab).valueChanges.front();
    CHECK(change.hook == "blocks.1.hook_resid_pre");
    CHECK(change.position == 3);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().originalAnswer && !lab.snapshot().failure; }));

    // A quick lens follows another picture by itself.
    lab.showPanel("lenses");
    page.setCurrentIndex(1);
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("lensSummary").text().startsWith("The logit of"); }));
    const QString before = lab.find<QLabel>("lensSummary").text();
    input(lab).openPicture(lab.find<QComboBox>("pictureChoice").itemData(1).toString());
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("lensSummary").text() != before; }));
}
