#include "app/figures/plot_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

const FigureTheme kPlotTheme = FigureTheme::light();
const QSize kPlotSize(360, 240);

/// A straight line from 4 to 2 over 100 steps.
PlotFigure falling() {
    PlotFigure figure;
    figure.title = "Loss";
    figure.lines = {{.label = "run", .points = {{0, 4}, {100, 2}}, .colour = QColor(0, 0, 255)}};
    figure.fitRange();
    return figure;
}

/// The rows in which the line's colour lies, at a share of the width.
std::vector<int> rowsAt(const QImage& image, double share) {
    std::vector<int> rows;
    for (int y = 0; y < image.height(); ++y)
        if (const QColor pixel = image.pixelColor(static_cast<int>(image.width() * share), y);
            pixel.blue() > 200 && pixel.red() < 120)
            rows.push_back(y);
    return rows;
}

} // namespace

TEST_CASE("plot: the axis of values begins at zero, or at a whole power of ten", "[figures]") {
    PlotFigure figure = falling();
    CHECK(figure.minimum == 0);
    CHECK(figure.maximum == Approx(4.2)); // a twentieth more than the largest
    figure.isLogarithmic = true;
    figure.fitRange();
    CHECK(figure.minimum == Approx(1));
    CHECK(figure.maximum == Approx(10));
    figure.lines[0].points = {{0, 0}}; // has no logarithm
    figure.fitRange();
    CHECK(figure.minimum > 0);
    CHECK(figure.maximum > figure.minimum);
}

TEST_CASE("plot: a falling line is drawn from the upper left to the lower right", "[figures]") {
    PlotFigure figure = falling();
    const QImage image = painted(figure, kPlotTheme, kPlotSize);
    const std::vector<int> left = rowsAt(image, 0.3), right = rowsAt(image, 0.7);
    REQUIRE_FALSE(left.empty());
    REQUIRE_FALSE(right.empty());
    CHECK(left.back() < right.front());
    for (int step = 1; step < 100'000; ++step) figure.lines[0].points.emplace_back(100 + step, 2);
    CHECK_FALSE(rowsAt(painted(figure, kPlotTheme, kPlotSize), 0.7).empty()); // averages 250 steps
    figure.lengths = {16, 32, 64, 128};
    painted(figure, kPlotTheme, kPlotSize);
    painted(PlotFigure{}, kPlotTheme, kPlotSize);
    painted(figure, kPlotTheme, {40, 30}); // no room for anything
}

TEST_CASE("plot: export has every point of every line", "[figures]") {
    PlotFigure figure = falling();
    figure.lines.push_back({.label = "a, b", .points = {{1, 0.5}}});
    CHECK(figure.csv() == "line,place,value\n\"run\",0,4\n\"run\",100,2\n\"a, b\",1,0.5\n");
    REQUIRE(figure.numbers().size() == 2);
    CHECK(figure.numbers()[0].shape == std::vector<int64_t>{2, 2});
    CHECK(figure.numbers()[0].values == std::vector<float>{0, 4, 100, 2});
    CHECK_FALSE(PlotFigure{}.hasNumbers());
}
