#include "app/figures/heatmap_figure.h"

#include "app/figures/token_label.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

HeatmapFigure figureOf(int tokens, int offset = 1) {
    HeatmapFigure figure;
    figure.tile = samples::sharedTile(tokens, 0, 0, offset);
    figure.queryCount = figure.keyCount = tokens;
    figure.setLabels(tokenLabels(samples::sequence(tokens).get()));
    figure.title = "Layer 0, head 0";
    return figure;
}

QRgb colourAt(const QImage& image, const QPointF& point) {
    return image.pixel(static_cast<int>(point.x()), static_cast<int>(point.y())) | 0xff000000;
}

/// A point of a cell where no number is written.
QPointF corner(const QRectF& cell) { return cell.topLeft() + QPointF(2, 2); }

constexpr QSize kHeatmapSize(600, 500);

} // namespace

TEST_CASE("heatmap: every cell has the colour of its value", "[figures]") {
    const auto map = GENERATE(ColourMapId::Viridis, ColourMapId::Greys);
    HeatmapFigure figure = figureOf(9);
    figure.colours = map;
    const FigureTheme theme = FigureTheme::light();
    const QImage image = painted(figure, theme, kHeatmapSize);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kHeatmapSize), theme);
    for (int query = 0; query < 9; ++query)
        for (int key = 0; key < 9; ++key) {
            INFO("query " << query << ", key " << key);
            const QRgb expected =
                key > query ? theme.plot.rgb() : ColourMap::of(map).at(samples::weightOf(query, key, 1));
            CHECK(colourAt(image, corner(layout.cellRect({query, key}))) == expected);
        }
}

TEST_CASE("heatmap: more cells than pixels keep their peaks", "[figures]") {
    HeatmapFigure figure = figureOf(700, 0);
    const FigureTheme theme = FigureTheme::light();
    const QImage image = painted(figure, theme, {400, 380});
    const auto layout = figure.layout(QRectF(0, 0, 400, 380), theme);
    REQUIRE(layout.cellWidth() < 1);
    // The diagonal is the only strong line: half of the weight and one pixel wide.
    for (int token = 20; token < 690; token += 67) {
        const QRgb colour = colourAt(image, layout.cellRect({token, token}).center());
        CHECK(qGreen(colour) >= qGreen(ColourMap::of(ColourMapId::Viridis).at(0.49f)));
    }
}

TEST_CASE("heatmap: a point hits the cell that is drawn there, at every zoom", "[figures]") {
    HeatmapFigure figure = figureOf(40);
    const FigureTheme theme = FigureTheme::light();
    for (const QRectF& window : {QRectF(), QRectF(3.25, 10.5, 12, 12), QRectF(30, 30, 5, 5)}) {
        figure.window = window;
        const auto layout = figure.layout(QRectF(QPointF(0, 0), kHeatmapSize), theme);
        const int first = window.isNull() ? 0 : static_cast<int>(std::ceil(window.left())),
                  top = window.isNull() ? 0 : static_cast<int>(std::ceil(window.top()));
        const int count = static_cast<int>(layout.window.width()) - 1;
        for (int query = top; query < top + count; ++query)
            for (int key = first; key < first + count; ++key)
                CHECK(figure.cellAt(layout.cellRect({query, key}).center(), layout) == Cell{query, key});
        CHECK_FALSE(figure.cellAt(layout.plot.topLeft() - QPointF(2, 2), layout));
        CHECK_FALSE(figure.cellAt(layout.plot.bottomRight() + QPointF(2, 2), layout));
    }
}

TEST_CASE("heatmap: everything stays inside its area and apart, whatever the size", "[figures]") {
    const int tokens = GENERATE(1, 2, 14, 512);
    const FigureTheme theme = GENERATE(FigureTheme::light(12), FigureTheme::projector(20));
    HeatmapFigure figure = figureOf(tokens);
    for (const QSize& size : {QSize(160, 140), QSize(240, 600), QSize(900, 260), QSize(1400, 900)}) {
        INFO(tokens << " tokens at " << size.width() << " x " << size.height());
        const QRectF area(QPointF(0, 0), size);
        const auto layout = figure.layout(area, theme);
        CHECK(area.contains(layout.plot));
        CHECK(layout.keyLabels.bottom() <= layout.plot.top());
        CHECK(layout.queryLabels.right() <= layout.plot.left());
        CHECK(area.contains(layout.keyLabels.topLeft()));
        CHECK(area.contains(layout.queryLabels.topLeft()));
        if (!layout.bar.isNull()) {
            CHECK(layout.bar.left() > layout.plot.right());
            CHECK(area.contains(layout.bar));
            CHECK(layout.title.bottom() <= layout.keyTitle.top() + 1);
        }
        CHECK_FALSE(painted(figure, theme, size).isNull());
    }
}

TEST_CASE("heatmap: a tile of a part lies in its place", "[figures]") {
    HeatmapFigure figure = figureOf(20);
    PatternTile part{.rows = 5, .columns = 5, .queryBegin = 10, .queryEnd = 15, .keyBegin = 5, .keyEnd = 10};
    for (int query = 10; query < 15; ++query)
        for (int key = 5; key < 10; ++key) part.values.push_back(samples::weightOf(query, key, 4));
    figure.tile = std::make_shared<const PatternTile>(part);
    const FigureTheme theme = FigureTheme::dark();
    const QImage image = painted(figure, theme, kHeatmapSize);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kHeatmapSize), theme);
    CHECK(colourAt(image, layout.cellRect({12, 8}).center()) ==
          ColourMap::of(ColourMapId::Viridis).at(samples::weightOf(12, 8, 4)));
    CHECK(colourAt(image, layout.cellRect({3, 1}).center()) == theme.plot.rgb());
    CHECK(figure.valueAt({12, 8}) == samples::weightOf(12, 8, 4));
    CHECK(std::isnan(figure.valueAt({3, 1})));
    CHECK_FALSE(figure.cellAt(layout.cellRect({3, 1}).center(), layout));
}

TEST_CASE("heatmap: the table repeats the numbers shown", "[figures]") {
    HeatmapFigure figure = figureOf(4);
    figure.setLabels({"<s>", "a,b", "say \"x\"", "世界"});
    const QStringList lines = figure.csv().split("\r\n", Qt::SkipEmptyParts);
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == QStringLiteral("\"query\\key\",\"0 <s>\",\"1 a,b\",\"2 say \"\"x\"\"\",\"3 世界\""));
    for (int query = 0; query < 4; ++query) {
        const QStringList cells = lines[query + 1].split(',');
        for (int key = 0; key < 4; ++key) {
            const QString field = cells[cells.size() - 4 + key];
            CHECK(field.isEmpty() == (key > query)); // masked
            CHECK(field.toFloat() == samples::weightOf(query, key, 1));
            CHECK(std::isnan(figure.numbers().front().values[static_cast<size_t>(4 * query + key)]) == (key > query));
        }
    }
    figure.scale.hidesFirst = true;
    CHECK(figure.csv().split("\r\n")[2].endsWith(
        ",,1,,")); // query 1: the first token is left empty, the rest is all on key 1
}

TEST_CASE("heatmap: without a tile it says so and has no table", "[figures]") {
    const HeatmapFigure figure;
    CHECK(figure.csv().isEmpty());
    CHECK_FALSE(painted(figure, FigureTheme::light(), {200, 100}).isNull());
    CHECK(std::isnan(figure.valueAt({0, 0})));
}

TEST_CASE("heatmap: marks frame the hovered row, column and the selected cell", "[figures]") {
    HeatmapFigure figure = figureOf(10);
    const FigureTheme theme = FigureTheme::light();
    figure.hovered = Cell{6, 2};
    figure.selected = Cell{8, 4};
    const QImage image = painted(figure, theme, kHeatmapSize);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kHeatmapSize), theme);
    const auto touches = [&](const QRectF& rect, const QColor& colour) {
        for (int y = static_cast<int>(rect.top()) - 3; y <= static_cast<int>(rect.bottom()) + 3; ++y)
            for (int x = static_cast<int>(rect.left()) - 3; x <= static_cast<int>(rect.right()) + 3; ++x)
                if (image.rect().contains(x, y) && colourAt(image, QPointF(x, y)) == colour.rgb()) return true;
        return false;
    };
    CHECK(touches(layout.cellRect({6, 9}), theme.query));
    CHECK(touches(layout.cellRect({0, 2}), theme.key));
    CHECK(touches(layout.cellRect({8, 4}), theme.accent));
}
