#include "app/figures/captioned_figure.h"

#include "app/figures/plot_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

CaptionedFigure sheet(const QString& caption) {
    auto plot = std::make_shared<PlotFigure>();
    plot->title = "Loss";
    plot->lines = {{.label = "run", .points = {{0, 2}, {10, 1.5}}}};
    plot->fitRange();
    CaptionedFigure figure;
    figure.figure = plot;
    figure.caption = caption;
    return figure;
}

/// The number of lines of pixels from the bottom up that are ground.
int emptyBelow(const QImage& image) {
    for (int y = image.height() - 1; y >= 0; --y)
        for (int x = 0; x < image.width(); ++x)
            if (image.pixel(x, y) != image.pixel(0, image.height() - 1)) return image.height() - 1 - y;
    return image.height();
}

} // namespace

TEST_CASE("captioned figure: its caption stands below the figure, in as many lines as it needs", "[figures]") {
    const FigureTheme theme = FigureTheme::light();
    const QSizeF screen(300, 200);
    CHECK(sheet({}).pageSize(screen, theme) == screen);
    const double one = sheet("A short one").pageSize(screen, theme).height(),
                 many = sheet(QString("many words ").repeated(20)).pageSize(screen, theme).height();
    CHECK(one > screen.height());
    CHECK(many > one + theme.lineHeight());

    const QImage alone = painted(sheet({}), theme, {300, 200});
    const CaptionedFigure captioned = sheet("A short one");
    const QImage page = painted(captioned, theme, captioned.pageSize(screen, theme).toSize());
    CHECK(page.copy(0, 0, 300, 199) == alone.copy(0, 0, 300, 199));
    CHECK(emptyBelow(page) < page.height() - 200);

    // A page that is too small keeps the figure.
    const QImage small = painted(sheet(QString("many words ").repeated(200)), theme, {300, 200});
    CHECK(small.copy(0, 0, 300, 99) == painted(sheet({}), theme, {300, 100}).copy(0, 0, 300, 99));
}

TEST_CASE("captioned figure: its numbers are those of the figure", "[figures]") {
    const CaptionedFigure captioned = sheet("A short one");
    CHECK(captioned.hasNumbers());
    CHECK(captioned.csv() == captioned.figure->csv());
    CHECK(captioned.copy()->csv() == captioned.csv());
}
