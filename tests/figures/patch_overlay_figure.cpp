#include "app/figures/patch_overlay_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

const FigureTheme kOverlayTheme = FigureTheme::light();
const QRectF kArea(0, 0, 320, 260);

/// A grey picture of 30 x 20 pixels under 2 x 3 patches.
PatchOverlayFigure sample() {
    PatchOverlayFigure figure;
    figure.image = QImage(30, 20, QImage::Format_RGB32);
    figure.image.fill(QColor(100, 100, 100));
    figure.setValues(2, 3, {0, 1, 2, 4, 3, 0});
    figure.showsGrid = false;
    return figure;
}

QColor drawnAt(const PatchOverlayFigure& figure, int patch) {
    const QRectF rect = figure.layout(kArea, kOverlayTheme).patchRect(patch, 3, 2);
    return painted(figure, kOverlayTheme, kArea.size().toSize()).pixelColor(rect.center().toPoint());
}

} // namespace

TEST_CASE("patch overlay: every patch has the colour of its number, mixed with the picture", "[figures][vision]") {
    PatchOverlayFigure figure = sample();
    CHECK(figure.largest() == 4);
    figure.opacity = 1;
    const ColourMap& map = ColourMap::of(ColourMapId::Viridis);
    for (const auto& [patch, level] : {std::pair{0, 0.0f}, {1, 0.25f}, {2, 0.5f}, {3, 1.0f}, {4, 0.75f}})
        CHECK(drawnAt(figure, patch) == QColor(map.at(level)));
    figure.opacity = 0;
    CHECK(drawnAt(figure, 3) == QColor(100, 100, 100));
    figure.opacity = 0.5;
    CHECK(std::abs(drawnAt(figure, 3).red() - (100 + QColor(map.at(1)).red()) / 2) <= 2);
}

TEST_CASE("patch overlay: numbers with signs have diverging colours around zero", "[figures][vision]") {
    PatchOverlayFigure figure = sample();
    figure.setValues(2, 3, {0, 1, -2, 4, 3, -4});
    figure.isSigned = true;
    figure.opacity = 1;
    CHECK(figure.largest() == 4);
    const ColourMap& map = ColourMap::of(ColourMapId::Diverging);
    for (const auto& [patch, level] : {std::pair{0, 0.5f}, {1, 0.625f}, {2, 0.25f}, {3, 1.0f}, {5, 0.0f}})
        CHECK(drawnAt(figure, patch) == QColor(map.at(level)));
}

TEST_CASE("patch overlay: where there is no room, no words lie over the picture", "[figures][vision]") {
    PatchOverlayFigure figure = sample();
    const QSize small(120, 90);
    const QImage bare = painted(figure, kOverlayTheme, small);
    figure.title = "A title";
    figure.note = "A note";
    CHECK(painted(figure, kOverlayTheme, small) == bare);
    figure.isBare = true; // nor where they are not wanted
    CHECK(figure.layout(kArea, kOverlayTheme).bar.isNull());
    CHECK(painted(figure, kOverlayTheme, kArea.size().toSize()) !=
          painted(sample(), kOverlayTheme, kArea.size().toSize()));
}

TEST_CASE("patch overlay: a point finds the patch under it, and none beside the picture", "[figures][vision]") {
    const PatchOverlayFigure figure = sample();
    for (const QSizeF& size : {QSizeF(60, 50), QSizeF(320, 260), QSizeF(900, 300)}) {
        const auto at = figure.layout(QRectF(QPointF(), size), kOverlayTheme);
        CHECK(at.picture.width() / at.picture.height() == Approx(1.5)); // the picture keeps its ratio
        for (const int patch : {0, 2, 5}) CHECK(figure.patchAt(at.patchRect(patch, 3, 2).center(), at) == patch);
        CHECK_FALSE(figure.patchAt(at.picture.bottomRight() + QPointF(2, 2), at));
    }
}

TEST_CASE("patch overlay: numbers go out as they are, and an empty figure says what to do", "[figures][vision]") {
    CHECK(sample().csv() == ",0,1,2\r\n0,0,1,2\r\n1,4,3,0\r\n");
    REQUIRE(sample().numbers().size() == 1);
    CHECK(sample().numbers().front().shape == std::vector<int64_t>{2, 3});
    const PatchOverlayFigure empty;
    CHECK(empty.isEmpty());
    CHECK(empty.csv().isEmpty());
    painted(empty, kOverlayTheme, QSize(200, 100));
    PatchOverlayFigure zeros = sample();
    zeros.setValues(1, 1, {0});
    CHECK(zeros.largest() == 1);
}
