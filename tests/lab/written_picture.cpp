#include "tests/lab/lab_window.h"

#include "app/lab/widgets/patch_overlay_view.h"
#include "engine/training/run.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

/// The folder of a model that has learned a little about pictures of 4 x 4 pixels.
QString trainedModel(const QTemporaryDir& folder, double colour) {
    Recipe recipe{.task = "pixels", .batch = 4};
    recipe.settings.values = {{"size", 4}, {"colour", colour}};
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16, .initialDeviation = 0.2};
    recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = 5};
    TrainingRun run(folder.filePath("run").toStdString(), recipe, {.softwareThreads = 0}, false);
    while (!run.isFinished()) run.advance();
    run.finish();
    return folder.filePath("run");
}

/// The sums over the channels of each pixel of the newest token's attention, in the selected head.
std::vector<float> newestWeights(LabWindow& lab, size_t channels) {
    const ReadoutRows& rows = *lab.snapshot().readoutRows;
    const Selection& selection = lab.window().workbench().selection();
    const size_t first = static_cast<size_t>((selection.site * rows.heads + selection.head) * rows.keys);
    std::vector<float> sums;
    for (size_t token = 1; token < lab.snapshot().sequence->tokens.size(); ++token) {
        if ((token - 1) % channels == 0) sums.push_back(0);
        sums.back() += rows.values[first + token];
    }
    return sums;
}

} // namespace

TEST_CASE("written picture: it grows as the model writes, with the attention of the next pixel over it", "[lab]") {
    const QTemporaryDir folder;
    const int channels = GENERATE(1, 3);
    LabWindow lab(trainedModel(folder, channels == 3 ? 1 : 0));
    const auto& view = lab.find<PatchOverlayView>("attentionPixels");
    REQUIRE(view.isVisible()); // without a choice of the user
    CHECK(lab.find<QToolButton>("attentionAsPixels").isChecked());
    CHECK(view.figure().marked == 0); // the first token is the prompt

    auto& amount = lab.find<QSpinBox>("amount");
    amount.setValue(5 * channels);
    lab.clickAndSettle("run");
    const auto seen = [&] { return view.figure().values(); };
    REQUIRE(lab.waitFor([&] { return view.figure().marked == 5; }));
    REQUIRE(seen().size() == 16);
    const auto expectNewest = [&] {
        const std::vector<float> expected = newestWeights(lab, static_cast<size_t>(channels));
        for (size_t pixel = 0; pixel < expected.size(); ++pixel) {
            CAPTURE(pixel);
            CHECK(seen()[pixel] == Approx(expected[pixel]).margin(1e-5)); // sums of three weights
        }
        return expected.size();
    };
    CHECK(expectNewest() == 5);
    CHECK(std::isnan(seen()[5]));
    const std::vector<float> before = seen();
    lab.find<QSpinBox>("attentionHeadNumber").setValue(1);
    REQUIRE(lab.settle());
    CHECK(expectNewest() == 5);
    CHECK(seen() != before);

    // A click keeps the query that wrote a pixel, whose later keys are not seen.
    const QPoint third = view.patchRect(3).center().toPoint();
    QTest::mouseClick(&lab.find<PatchOverlayView>("attentionPixels"), Qt::LeftButton, {}, third);
    REQUIRE(lab.settle());
    CHECK(lab.window().workbench().selection().row == 3 * channels);
    CHECK(view.figure().marked == 3);
    CHECK(seen()[2] > 0);
    CHECK(seen()[4] == 0);
    QTest::mouseClick(&lab.find<PatchOverlayView>("attentionPixels"), Qt::LeftButton, {}, third);
    hover(lab.find<PatchOverlayView>("attentionPixels"), QPoint(1, 1));

    // The model stops where the picture ends.
    amount.setValue(200);
    lab.clickAndSettle("run");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Idle && lab.snapshot().hasEnded; }));
    CHECK(lab.snapshot().sequence->tokens.size() == static_cast<size_t>(1 + 16 * channels));
    REQUIRE(lab.waitFor([&] { return !view.figure().marked; }));
    CHECK(expectNewest() == 16);
    CHECK(lab.find<QLabel>("textEnded").text() == "The picture is complete.");
}

TEST_CASE("written picture: a model of text has no such view, and a session keeps the one that was chosen", "[lab]") {
    const QTemporaryDir folder;
    const QString model = trainedModel(folder, 0);
    LabWindow lab;
    CHECK_FALSE(lab.find<QToolButton>("attentionAsPixels").isVisible());
    lab.window().files().open(model);
    REQUIRE(lab.settle());
    CHECK(lab.find<PatchOverlayView>("attentionPixels").isVisible());
    lab.find<QToolButton>("attentionAsHeatmap").click();
    REQUIRE(lab.settle());
    CHECK_FALSE(lab.find<PatchOverlayView>("attentionPixels").isVisible());
    const QString session = folder.filePath("kept.attnlab");
    lab.saveSession(session);
    lab.window().files().open("builtin:induction");
    REQUIRE(lab.settle());
    CHECK_FALSE(lab.find<QToolButton>("attentionAsPixels").isVisible());
    lab.window().files().open(session);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return lab.find<QToolButton>("attentionAsPixels").isVisible(); }));
    CHECK(lab.find<QToolButton>("attentionAsHeatmap").isChecked());
}
