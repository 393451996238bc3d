#include "app/figures/lines_figure.h"
#include "app/figures/rotation_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

const QSize kLinesSize(300, 200);

LinesFigure bars() {
    LinesFigure figure;
    figure.title = "Divergence";
    figure.placeTitle = "query";
    figure.isBars = true;
    figure.range = std::pair(0.0, 1.0);
    figure.lines = {{.label = "bits", .values = {0, 0.5f, std::nanf(""), 1}}};
    return figure;
}

} // namespace

TEST_CASE("lines figure: bars are as high as their numbers, and the place pointed at is found", "[figures]") {
    const LinesFigure figure = bars();
    const FigureTheme theme = FigureTheme::light();
    const QRectF area(0, 0, 300, 200);
    const auto at = figure.layout(area, theme);
    const QImage image = painted(figure, theme, kLinesSize);
    const auto colour = [&](int place, double height) {
        return image.pixelColor(static_cast<int>(at.x(place)),
                                static_cast<int>(at.plot.bottom() - height * at.plot.height()));
    };
    CHECK(colour(3, 0.9) != colour(1, 0.9));
    CHECK(colour(1, 0.4) == colour(3, 0.4));
    CHECK(colour(1, 0.6) == colour(2, 0.6)); // above the bar, and where there is none
    for (int place = 0; place < 4; ++place) CHECK(figure.indexAt({at.x(place), at.plot.center().y()}, at) == place);
    CHECK_FALSE(figure.indexAt({at.plot.center().x(), at.plot.top() - 10}, at));
}

TEST_CASE("lines figure: its numbers are a table with a column for each line", "[figures]") {
    LinesFigure figure;
    figure.title = "Bias";
    figure.placeTitle = "distance";
    figure.lines = {{.label = "head 0", .values = {0, -0.5f}}, {.label = "head 1", .values = {0, -0.25f, 2}}};
    CHECK(figure.csv() == "\"distance\",\"head 0\",\"head 1\"\r\n0,0,0\r\n1,-0.5,-0.25\r\n2,,2\r\n");
    REQUIRE(figure.numbers().size() == 2);
    CHECK(figure.numbers()[1].name == "Bias, head 1");
    CHECK(LinesFigure().csv().isEmpty());
}

TEST_CASE("lines figure: words that do not fit side by side stand upright below the bars", "[figures]") {
    LinesFigure figure = bars();
    figure.lines.front().values.assign(30, 0.5f);
    const FigureTheme theme = FigureTheme::light();
    const QRectF area(0, 0, 300, 200);
    const auto without = figure.layout(area, theme);
    figure.placeNames.assign(30, QStringLiteral("teacher"));
    const auto with = figure.layout(area, theme);
    CHECK(without.names == LinesFigure::Layout::Names::None);
    CHECK(with.names == LinesFigure::Layout::Names::Upright);
    CHECK(with.plot.bottom() < without.plot.bottom());
    CHECK(figure.layout(QRectF(0, 0, 3000, 200), theme).names == LinesFigure::Layout::Names::Flat);
    CHECK(figure.layout(QRectF(0, 0, 100, 80), theme).names == LinesFigure::Layout::Names::None);
}

TEST_CASE("lines figure: what lies beyond the trained length has another ground, in each theme", "[figures]") {
    LinesFigure figure = bars();
    figure.isBars = false;
    figure.beyond = 2;
    for (const FigureTheme& theme : {FigureTheme::light(), FigureTheme::dark(), FigureTheme::projector()}) {
        const auto at = figure.layout(QRectF(0, 0, 300, 200), theme);
        const QImage image = painted(figure, theme, kLinesSize);
        const int y = static_cast<int>(at.plot.top() + at.plot.height() * 0.75);
        CHECK(image.pixelColor(static_cast<int>(at.x(0)) + 3, y) == theme.background);
        CHECK(image.pixelColor(static_cast<int>(at.plot.right()) - 3, y) == theme.plot);
        figure.beyond.reset();
        CHECK(figure.layout(QRectF(0, 0, 300, 200), theme).plot.top() < at.plot.top() - 5); // its name stands above
        figure.beyond = 2;
    }
}

TEST_CASE("rotation figure: its numbers name plane and place", "[figures]") {
    RotationFigure figure;
    figure.title = "Rotation";
    figure.planes = {{.label = "features 0, 1", .x = {1, 0}, .y = {0, 1}}};
    CHECK(figure.csv() == "plane,place,x,y\r\n\"features 0, 1\",0,1,0\r\n\"features 0, 1\",1,0,1\r\n");
    REQUIRE(figure.numbers().size() == 1);
    CHECK(figure.numbers()[0].shape == std::vector<int64_t>{1, 2, 2});
    CHECK(painted(figure, FigureTheme::light(), kLinesSize) !=
          painted(RotationFigure(), FigureTheme::light(), kLinesSize));
}
