#include "app/figures/difference.h"

#include "app/figures/cell_figure.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

std::shared_ptr<PatternTile> tileOf(std::vector<float> values, int rows = 3) {
    return std::make_shared<PatternTile>(
        PatternTile{.rows = rows, .columns = rows, .queryEnd = rows, .keyEnd = rows, .values = std::move(values)});
}

const std::vector<float> kBefore{1, 0, 0, 0.5f, 0.5f, 0, 0.2f, 0.3f, 0.5f};
const std::vector<float> kAfter{1, 0, 0, 0.75f, 0.25f, 0, 0.2f, 0.7f, 0.1f};

QRgb change(float level) { return ColourMap::of(ColourMapId::Diverging).at(level) | 0xff000000; }

} // namespace

TEST_CASE("difference: levels are symmetric about no change", "[figures]") {
    const ScaledTile scaled = scaleDifference(*tileOf(kAfter), *tileOf(kBefore), {.kind = ScaleKind::Log});
    CHECK(scaled.range == Approx(0.4f));
    const std::vector<float> expected{0, 0, 0, 0.25f, -0.25f, 0, 0, 0.4f, -0.4f};
    for (size_t i = 0; i < expected.size(); ++i) CHECK(scaled.values[i] == Approx(expected[i]).margin(1e-6));
    CHECK(scaled.levels[0] == 0.5f);
    CHECK(scaled.levels[1] == kNoLevel); // a key after its query, in both
    CHECK(scaled.levels[3] == Approx(0.5f + 0.5f * 0.25f / 0.4f));
    CHECK(scaled.levels[7] == Approx(1));
    CHECK(scaled.levels[8] == Approx(0).margin(1e-6));
    CHECK(largestDifference(*tileOf(kAfter), *tileOf(kBefore), {}) == Approx(0.4f));

    // In a range that is given, and where almost nothing has changed.
    CHECK(scaleDifference(*tileOf(kAfter), *tileOf(kBefore), {}, 0.8f).levels[7] == Approx(0.75f));
    std::vector<float> hardly = kBefore;
    hardly[4] += 1e-7f;
    CHECK(scaleDifference(*tileOf(hardly), *tileOf(kBefore), {}).levels[4] == Approx(0.5f).margin(1e-4));
}

TEST_CASE("difference: the first token is left out of both before they are compared", "[figures]") {
    const ScaledTile scaled = scaleDifference(*tileOf(kAfter), *tileOf(kBefore), {.hidesFirst = true});
    CHECK(std::isnan(scaled.values[6]));
    CHECK(scaled.levels[6] == kNoLevel);
    CHECK(scaled.values[7] == Approx(0.7f / 0.8f - 0.3f / 0.8f));
    CHECK(scaled.values[4] == Approx(0).margin(1e-6)); // all that is left, then and now
}

TEST_CASE("difference: a heatmap draws and exports it", "[figures]") {
    HeatmapFigure figure;
    figure.tile = tileOf(kAfter);
    figure.before = tileOf(kBefore);
    figure.queryCount = figure.keyCount = 3;
    const FigureTheme theme = FigureTheme::light();
    const QSize size(400, 300);
    const QImage image = painted(figure, theme, size);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), size), theme);
    const auto corner = [&](int query, int key) { // beside the number in the middle
        const QPointF point = layout.cellRect({query, key}).topLeft() + QPointF(2, 2);
        return image.pixel(point.toPoint()) | 0xff000000;
    };
    CHECK(corner(0, 0) == change(0.5f));
    CHECK(corner(2, 1) == change(1));
    CHECK(corner(2, 2) == change(0));
    CHECK(corner(0, 2) == (theme.plot.rgb() | 0xff000000));
    CHECK(figure.range() == Approx(0.4f));
    CHECK(figure.valueAt({1, 0}) == Approx(0.25f));
    CHECK(figure.csv().contains("0.25"));
    REQUIRE(figure.numbers().size() == 1);
    CHECK(figure.numbers().front().name == "pattern_change");

    figure.before = tileOf({1, 0, 1, 0}, 2); // of other cells: nothing can be told
    CHECK(std::isnan(figure.valueAt({1, 0})));
    painted(figure, theme, size);
    CHECK(figure.csv().isEmpty());
    CHECK(figure.numbers().empty());
    figure.before.reset();
    CHECK(figure.valueAt({1, 0}) == 0.75f);
    CHECK(figure.range() == 0);
}

TEST_CASE("difference: thumbnails share their range, and their strips show it", "[figures]") {
    const auto gridOf = [](const std::vector<float>& first, const std::vector<float>& second) {
        auto grid = std::make_shared<PatternGrid>(PatternGrid{.sites = 1, .heads = 2, .tiles = {}});
        for (int head = 0; head < 2; ++head) {
            grid->tiles.push_back(*tileOf(head == 0 ? first : second));
            grid->tiles.back().head = head;
        }
        return grid;
    };
    std::vector<float> little = kBefore;
    little[3] = 0.6f;
    little[4] = 0.4f;
    ThumbnailGridFigure figure;
    figure.setGrid(gridOf(kAfter, little), gridOf(kBefore, kBefore));
    CHECK(figure.range() == Approx(0.4f)); // of all heads, so that the one that changed most stands out
    const FigureTheme theme = FigureTheme::light();
    const QSize size(900, 400);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), size), theme);
    const QImage image = painted(figure, theme, size);
    const auto at = [&](int column, int query, int key) {
        const QRectF rect = figure.thumbnailRect(layout, 0, column);
        const double cell = rect.width() / 3;
        return image.pixel((rect.topLeft() + QPointF((key + 0.5) * cell, (query + 0.5) * cell)).toPoint()) | 0xff000000;
    };
    CHECK(at(0, 2, 1) == change(1));
    CHECK(at(1, 1, 0) == change(0.5f + 0.5f * 0.1f / 0.4f));
    CHECK(at(2, 2, 1) == change(0.75f)); // the mean of both heads
    // The largest of both heads went from 0.3 to 0.7.
    CHECK(at(3, 2, 1) == change(1));
    CHECK(at(3, 2, 2) == change(0.5f)); // and stayed 0.5 here, in the head that did not change

    const auto rowsOf = [](std::vector<float> values) {
        return std::make_shared<ReadoutRows>(
            ReadoutRows{.sites = 1, .heads = 2, .keys = 3, .values = std::move(values)});
    };
    figure.readoutRows = rowsOf({0.2f, 0.7f, 0.1f, 0.2f, 0.3f, 0.5f});
    figure.readoutBefore = rowsOf({0.2f, 0.3f, 0.5f, 0.2f, 0.3f, 0.5f});
    CHECK(figure.csv().startsWith("layer,head,query,key,change"));
    REQUIRE(figure.numbers().size() == 2);
    const NumberArray patterns = figure.numbers()[0], rows = figure.numbers()[1];
    CHECK(patterns.name == "pattern_change");
    CHECK(patterns.shape == std::vector<int64_t>{1, 2, 3, 3});
    CHECK(patterns.values[7] == Approx(kAfter[7] - kBefore[7])); // query 2 to key 1 of head 0
    CHECK(std::isnan(patterns.values[1]));                       // a key after the query
    CHECK(rows.name == "readout_row_change");
    CHECK(rows.values[1] == Approx(0.4f));
    CHECK(rows.values[4] == 0);

    figure.setGrid(gridOf(kAfter, little), samples::grid(1, 2, 8)); // of more tokens
    CHECK(figure.before() == nullptr);
    CHECK(figure.range() == 0);
}

TEST_CASE("difference: numbers have their sign", "[figures]") {
    CHECK(formatChange(0.123) == "+0.12");
    CHECK(formatChange(-0.5) == "−0.50");
    CHECK(formatChange(-0.001) == "−<.01");
    CHECK(formatChange(0) == "0");
    CHECK(formatChange(NAN).isEmpty());
    CHECK(formatSigned(5.46, 1) == "+5.5");
    CHECK(formatSigned(-5.46, 1) == "−5.5");
    CHECK(formatSigned(0.01, 1) == "0.0");
    CHECK(formatSigned(-0.01, 1) == "0.0");
    CHECK(changeColour(0.1f).red() > changeColour(0.1f).blue());
    CHECK(changeColour(-0.1f).blue() > changeColour(-0.1f).red());
}
