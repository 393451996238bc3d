#include "app/figures/written_picture_figure.h"
#include "tests/figures/painting.h"

#include <cmath>

using namespace attn;

namespace {

std::vector<TokenInfo> tokensOf(const std::vector<int>& ids) {
    std::vector<TokenInfo> tokens;
    for (const int id : ids) tokens.push_back({.id = id});
    return tokens;
}

QColor drawnAt(PatchOverlayFigure figure, int pixel) {
    figure.showsGrid = false;
    figure.marked.reset();
    const QRectF area(0, 0, 320, 260);
    const QRectF rect = figure.layout(area, FigureTheme::light()).patchRect(pixel, figure.columns(), figure.rows());
    return painted(figure, FigureTheme::light(), area.size().toSize()).pixelColor(rect.center().toPoint());
}

} // namespace

TEST_CASE("written picture: the weights of a pixel's channels are added, and what comes first is told apart",
          "[figures]") {
    const WrittenPicture layout{.rows = 2, .columns = 2, .channels = 3, .levels = 2};
    // The kind of the picture, a yellow pixel, and red of the next one.
    const auto tokens = tokensOf({6, 1, 3, 4, 1});
    const std::vector<float> weights{0.4f, 0.1f, 0.2f, 0.05f, 0.25f};
    const PatchOverlayFigure figure = writtenPictureFigure(layout, tokens, 4, weights);
    REQUIRE(figure.values().size() == 4);
    CHECK(figure.values()[0] == Approx(0.35f));
    CHECK(figure.values()[1] == Approx(0.25f));
    CHECK(std::isnan(figure.values()[2])); // nothing is written there
    CHECK(std::isnan(figure.values()[3]));
    CHECK(figure.marked == 1); // the query writes green of the second pixel
    CHECK(figure.title.contains("green of pixel 0, 1"));
    CHECK(figure.note.startsWith("40.0 %"));
    CHECK(queryOfPixel(layout, 1) == 3);
    CHECK(writtenPictureFigure(layout, tokens, 2, weights).marked == 0);
}

TEST_CASE("written picture: a picture in blocks has its pixels, weights and frame where the blocks lie", "[figures]") {
    // Blocks of 2 x 2 in a picture of 2 x 4: the third pixel that is written begins the second row.
    const WrittenPicture layout{.rows = 2, .columns = 4, .channels = 1, .levels = 3, .blockHeight = 2, .blockWidth = 2};
    const auto tokens = tokensOf({3, 0, 1, 2, 1, 2}); // the kind, the first block and a pixel of the second
    PatchOverlayFigure figure =
        writtenPictureFigure(layout, tokens, 5, std::vector{0.1f, 0.05f, 0.15f, 0.2f, 0.25f, 0.25f});
    const float unwritten = -1;
    const std::vector<float> expected{0.05f, 0.15f, 0.25f, unwritten, 0.2f, 0.25f, unwritten, unwritten};
    for (size_t pixel = 0; pixel < 8; ++pixel) {
        CAPTURE(pixel);
        if (expected[pixel] == unwritten)
            CHECK(std::isnan(figure.values()[pixel]));
        else
            CHECK(figure.values()[pixel] == Approx(expected[pixel]));
    }
    CHECK(figure.marked == 3);
    CHECK(figure.title.contains("pixel 0, 3"));
    CHECK(queryOfPixel(layout, 3) == 5);
    CHECK(queryOfPixel(layout, 4) == 2);
    figure.opacity = 0;
    for (const auto& [pixel, grey] : {std::pair{0, 0}, {1, 128}, {2, 255}, {4, 255}, {5, 128}})
        CHECK(drawnAt(figure, pixel) == QColor(grey, grey, grey));
}

TEST_CASE("written picture: the pixels are those of the tokens, and a whole picture has no next one", "[figures]") {
    const WrittenPicture layout{.rows = 2, .columns = 2, .channels = 1, .levels = 3};
    const auto whole = tokensOf({3, 0, 1, 2, 1});
    PatchOverlayFigure figure = writtenPictureFigure(layout, whole, 4, {});
    CHECK_FALSE(figure.marked);
    CHECK(figure.title == "The picture is complete.");
    figure.opacity = 0;
    for (const auto& [pixel, grey] : {std::pair{0, 0}, {1, 128}, {2, 255}, {3, 128}})
        CHECK(drawnAt(figure, pixel) == QColor(grey, grey, grey));
    // On white, what is not written is neither white nor black.
    const PatchOverlayFigure begun =
        writtenPictureFigure(layout, std::span(whole).first(2), 1, std::vector{0.5f, 0.5f});
    CHECK(begun.marked == 1);
    const int unwritten = drawnAt(begun, 2).red();
    CHECK((unwritten > 150 && unwritten < 255));
}
