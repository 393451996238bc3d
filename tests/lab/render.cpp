#include "app/figures/export_figure.h"
#include "app/figures/lens_pages.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/picture_patches.h"
#include "tests/lab/vision_test.h"
#include "tests/support/hover.h"
#include "tests/support/program.h"

// What the window shows, exported, against what attention-cli render writes. Both draw with the same fonts into images
// of the same size, so that every pixel agrees.

using namespace attn;

namespace {

constexpr QSize kSize(520, 440);

QImage exported(LabWindow& lab, const Figure& figure) {
    const QString path = lab.folder() + "/window.png";
    REQUIRE_FALSE(exportFigure(figure, FigureTheme::light(), kSize, path));
    return QImage(path);
}

QImage rendered(LabWindow& lab, const std::string& arguments) {
    const QString path = lab.folder() + "/render.png";
    const test::Answer answer =
        test::runProgram("render " + arguments + " --width 520 --height 440 --out '" + path.toStdString() + "'");
    INFO(answer.text);
    REQUIRE(answer.code == 0);
    return QImage(path);
}

/// Opens the bundled model of shapes on a picture, which it also writes to a file.
/// @return the options of attention-cli for both
std::string opensShapes(LabWindow& lab) {
    const QString picture = lab.folder() + "/shapes.png";
    REQUIRE(builtInPicture("shapes")->save(picture));
    REQUIRE(lab.settle());
    lab.window().files().open("builtin:vit-shapes");
    REQUIRE(answers(lab, "vit-shapes"));
    input(lab).openPicture(picture);
    REQUIRE(reads(lab));
    const auto isShown = [&] {
        const Snapshot& shown = lab.snapshot();
        return shown.answer && shown.picture->image == setup(lab).given.image && input(lab).isVisible();
    };
    REQUIRE(lab.waitFor(isShown));
    return "builtin:vit-shapes --image '" + picture.toStdString() + "'";
}

} // namespace

TEST_CASE("render: a head of a text is drawn as in the window", "[lab][cli]") {
    LabWindow lab("builtin:induction", "the cat sat on the cat");
    lab.showPanel("attention");
    const auto& heatmap = lab.find<HeatmapView>("attentionHeatmap");
    lab.find<QSpinBox>("attentionLayer").setValue(1);
    QTest::mouseClick(&lab.find<QToolButton>("attentionHead"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return heatmap.figure().tile && heatmap.figure().tile->site == 1; }));
    const std::string model = "builtin:induction --prompt 'the cat sat on the cat' ";
    CHECK(exported(lab, heatmap.figure()) == rendered(lab, model + "--layer 1 --head 0"));
    CHECK(exported(lab, heatmap.figure()) != rendered(lab, model + "--layer 0 --head 0"));
}

TEST_CASE("render: a head reads the second text too, with its token types", "[lab][cli]") {
    const QString golden = QStringLiteral(ATTN_TEST_DIR "/golden/");
    LabWindow lab(golden + "bert");
    lab.showPanel("attention");
    const auto& heatmap = lab.find<HeatmapView>("attentionHeatmap");
    QTest::mouseClick(&lab.find<QToolButton>("attentionHead"), Qt::LeftButton);
    lab.window().bridge().post(SetPromptCommand{{.text = "The dogs ran.", .second = "Who sat?"}});
    REQUIRE(lab.settle());
    const auto words = std::ssize(lab.snapshot().sequence->tokens);
    REQUIRE(lab.waitFor([&] { return heatmap.figure().tile && heatmap.figure().tile->rows == words; }));
    const std::string model = "'" + (golden + "bert' ").toStdString();
    const QImage shown = exported(lab, heatmap.figure());
    CHECK(shown == rendered(lab, model + "--prompt 'The dogs ran.' --second 'Who sat?' --layer 0 --head 0"));
}

TEST_CASE("render: heads and rollout of a picture are drawn as in the window", "[lab][vision][cli]") {
    LabWindow lab;
    const std::string model = opensShapes(lab);
    auto& overlay = lab.find<PatchOverlayView>("attentionPicture");
    auto& heads = lab.find<PointedView>("headsPictures");
    lab.find<QSpinBox>("attentionHeadNumber").setValue(1);
    lab.find<QSpinBox>("attentionLayer").setValue(1);
    CHECK(exported(lab, overlay.figure()) == rendered(lab, model + " --layer 1 --head 1"));
    CHECK(exported(lab, *heads.figure()) == rendered(lab, model + " --view heads --layer 1 --head 1"));
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, overlay.patchRect(5).center().toPoint());
    CHECK(overlay.figure().marked == 5);
    hover(overlay, QPoint(1, 1)); // away from the patches
    REQUIRE(lab.waitFor([&] { return !overlay.figure().hovered; }));
    CHECK(exported(lab, overlay.figure()) == rendered(lab, model + " --layer 1 --head 1 --patch 5"));
    lab.find<QComboBox>("attentionView").setCurrentIndex(1);
    REQUIRE(lab.waitFor([&] { return !overlayValues(lab).empty() && lab.snapshot().analyses.contains("rollout"); }));
    REQUIRE(lab.settle());
    CHECK(exported(lab, overlay.figure()) == rendered(lab, model + " --view rollout --patch 5"));
}

TEST_CASE("render: a lens is drawn as in the window, of a text and of a picture", "[lab][vision][cli]") {
    LabWindow lab("builtin:induction", "the cat sat on the cat");
    lab.showPanel("lenses");
    const auto& text = lab.find<LensAnswerView>("lensAnswer");
    REQUIRE(lab.waitFor([&] { return !text.answer().matrix.isEmpty(); }));
    LensFigure figure;
    figure.answer = text.answer();
    CHECK(exported(lab, figure) ==
          rendered(lab, "builtin:induction --prompt 'the cat sat on the cat' --view lens --lens logit"));

    const std::string model = opensShapes(lab);
    lab.showPanel("lenses");
    auto& page = lab.find<QComboBox>("lensPage");
    // The second name is that of an earlier version.
    for (const auto& [lens, named] : {std::pair("logit", "classes"), std::pair("gradients", "gradients")}) {
        INFO(lens);
        page.setCurrentIndex(page.findData(lens));
        REQUIRE(lab.waitFor([&] { return !lab.find<PatchOverlayView>("lensPicture").figure().isEmpty(); }));
        REQUIRE(lab.settle()); // the answer is that to the newest picture
        figure.answer = text.answer();
        figure.overlay = lab.find<PatchOverlayView>("lensPicture").figure();
        CHECK_FALSE(figure.overlay.isEmpty());
        CHECK(exported(lab, figure) == rendered(lab, model + " --view lens --lens " + named));
    }
}
