#include "app/figures/plot_figure.h"
#include "app/figures/drawing.h"
#include "tests/figures/painting.h"

#include <array>

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

TEST_CASE("plot: a line without a name takes no room for one", "[figures]") {
    PlotFigure figure = falling();
    const QRectF area(QPointF(), kPlotSize);
    const double named = figure.plotArea(area, kPlotTheme).width();
    CHECK(figure.summary() == "run: 2 at 100");
    figure.lines[0].label.clear();
    CHECK(figure.plotArea(area, kPlotTheme).width() > named);
    CHECK(figure.summary() == "2 at 100");
    const QImage image = painted(figure, kPlotTheme, kPlotSize);
    CHECK_FALSE(rowsAt(image, 0.9).empty()); // the line itself
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

TEST_CASE("plot: marks of an axis are round numbers", "[figures]") {
    const auto texts = [](double low, double high, int most) {
        QStringList all;
        const std::vector<double> marks = roundMarks(low, high, most);
        CHECK(marks.size() <= static_cast<size_t>(most));
        for (const double mark : marks) all << markText(mark, marks);
        return all.join(' ');
    };
    CHECK(texts(0, 448, 6) == "0 100 200 300 400"); // was 0, 224, 448
    CHECK(texts(0, 6.45, 6) == "0 2 4 6");          // was 0.00, 1.29, 2.58 ...
    CHECK(texts(0, 1, 6) == "0 0.2 0.4 0.6 0.8 1.0");
    CHECK(texts(-7.75, 0, 6) == "−6 −4 −2 0");
    CHECK(texts(0, 0.0003, 4) == "0 0.0001 0.0002 0.0003");
    CHECK(texts(0, 4e-5, 5) == "0 1×10⁻⁵ 2×10⁻⁵ 3×10⁻⁵ 4×10⁻⁵");
    CHECK(texts(0.2, 0.7, 2).split(' ').size() <= 2);
}

namespace {

/// @source Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision
///         Deficiency", severity 1
constexpr std::array<std::array<double, 9>, 4> kSight{
    {{1, 0, 0, 0, 1, 0, 0, 0, 1},
     {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
     {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
     {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}}};

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

/// CIE 1976 L*a*b* of a colour as it is seen.
std::array<double, 3> labOf(const QColor& colour, const std::array<double, 9>& sight) {
    const std::array<double, 3> given{linear(colour.redF()), linear(colour.greenF()), linear(colour.blueF())};
    std::array<double, 3> seen{};
    for (size_t row = 0; row < 3; ++row)
        for (size_t column = 0; column < 3; ++column) seen[row] += sight[3 * row + column] * given[column];
    for (double& channel : seen) channel = std::clamp(channel, 0.0, 1.0);
    const auto [r, g, b] = seen;
    const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
    const double x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047),
                 y = f(0.2126729 * r + 0.7151522 * g + 0.0721750 * b),
                 z = f((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

} // namespace

TEST_CASE("plot: the eight colours of series are far apart for every kind of sight", "[figures]") {
    for (size_t sight = 0; sight < kSight.size(); ++sight)
        for (size_t a = 0; a < kSeriesColours; ++a)
            for (size_t b = 0; b < a; ++b) {
                INFO("sight " << sight << ", colours " << b << " and " << a);
                const auto one = labOf(seriesColour(a), kSight[sight]), other = labOf(seriesColour(b), kSight[sight]);
                const double apart = std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
                CHECK(apart > 17); // a difference of 2 is just visible side by side; measured: 17.7 or more
            }
}

TEST_CASE("plot: a marked step that is not measured yet stays inside the plot", "[figures]") {
    PlotFigure figure = falling();
    figure.marked = 100;
    const QImage atEnd = painted(figure, kPlotTheme, kPlotSize);
    figure.marked = 115;
    CHECK(painted(figure, kPlotTheme, kPlotSize) == atEnd);
}
