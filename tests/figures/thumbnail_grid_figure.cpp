#include "app/figures/thumbnail_grid_figure.h"

#include "tests/figures/painting.h"

using namespace attn;

namespace {

constexpr QSize kSize(900, 600);

ThumbnailGridFigure figureOf(int layers, int heads, int tokens) {
    ThumbnailGridFigure figure;
    figure.setGrid(samples::grid(layers, heads, tokens));
    figure.readoutRows = samples::readoutRows(layers, heads, tokens);
    return figure;
}

QRgb colourAt(const QImage& image, const QPointF& point) {
    return image.pixel(static_cast<int>(point.x()), static_cast<int>(point.y())) | 0xff000000;
}

} // namespace

TEST_CASE("thumbnails: each head's picture is in its place with its colours", "[figures]") {
    const ThumbnailGridFigure figure = figureOf(2, 3, 8);
    const FigureTheme theme = FigureTheme::light();
    const QImage image = painted(figure, theme, kSize);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kSize), theme);
    for (int layer = 0; layer < 2; ++layer)
        for (int head = 0; head < 3; ++head) {
            const QRectF rect = figure.thumbnailRect(layout, layer, head);
            const double cell = rect.width() / 8;
            for (int query = 0; query < 8; ++query)
                for (int key = 0; key < 8; ++key) {
                    const QRgb expected =
                        key > query ? theme.plot.rgb()
                                    : ColourMap::of(ColourMapId::Viridis).at(samples::weightOf(query, key, head));
                    CHECK(colourAt(image, rect.topLeft() + QPointF((key + 0.5) * cell, (query + 0.5) * cell)) ==
                          expected);
                }
        }
}

TEST_CASE("thumbnails: a layer with fewer heads leaves places empty, and its mean counts its own heads", "[figures]") {
    auto grid = std::make_shared<PatternGrid>(*samples::grid(2, 3, 4));
    grid->tiles[2] = {.site = 0, .head = 2}; // the first layer has two heads
    ThumbnailGridFigure figure;
    figure.setGrid(grid);
    const FigureTheme theme = FigureTheme::light();
    const QImage image = painted(figure, theme, kSize);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kSize), theme);
    const auto at = [&](int layer, int column) { return figure.thumbnailRect(layout, layer, column).center(); };
    CHECK_FALSE(figure.choiceAt(at(0, 2), layout));
    CHECK(figure.choiceAt(at(0, 1), layout)->head == 1);
    CHECK(figure.choiceAt(at(1, 2), layout)->head == 2);
    CHECK(colourAt(image, at(0, 2)) == colourAt(image, QPointF(1, 1))); // the ground
    const double cell = figure.thumbnailRect(layout, 0, 3).width() / 4;
    const float mean = (samples::weightOf(3, 1, 0) + samples::weightOf(3, 1, 1)) / 2;
    CHECK(colourAt(image, figure.thumbnailRect(layout, 0, 3).topLeft() + QPointF(1.5 * cell, 3.5 * cell)) ==
          ColourMap::of(ColourMapId::Viridis).at(mean));
}

TEST_CASE("thumbnails: mean and maximum stand beside the heads", "[figures]") {
    const ThumbnailGridFigure figure = figureOf(1, 2, 4);
    REQUIRE(figure.columns() == 4);
    const FigureTheme theme = FigureTheme::light();
    const QImage image = painted(figure, theme, kSize);
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kSize), theme);
    const float a = samples::weightOf(3, 2, 0), b = samples::weightOf(3, 2, 1);
    const auto centre = [&](int column) {
        const QRectF rect = figure.thumbnailRect(layout, 0, column);
        return rect.topLeft() + QPointF(2.5, 3.5) * (rect.width() / 4);
    };
    CHECK(colourAt(image, centre(2)) == ColourMap::of(ColourMapId::Viridis).at((a + b) / 2));
    CHECK(colourAt(image, centre(3)) == ColourMap::of(ColourMapId::Viridis).at(std::max(a, b)));
    CHECK(figure.choiceOf(0, 2).aggregate == HeadAggregate::Mean);
    CHECK(figure.choiceOf(0, 3).aggregate == HeadAggregate::Maximum);
    CHECK(figureOf(1, 1, 4).columns() == 1);
}

TEST_CASE("thumbnails: a point hits the head that is drawn there, and gaps hit none", "[figures]") {
    const ThumbnailGridFigure figure = figureOf(12, 12, 5);
    const FigureTheme theme = FigureTheme::light();
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kSize), theme);
    for (int layer = 0; layer < 12; ++layer)
        for (int column = 0; column < figure.columns(); ++column) {
            const QRectF rect = figure.thumbnailRect(layout, layer, column);
            CHECK(figure.choiceAt(rect.center(), layout) == figure.choiceOf(layer, column));
            CHECK_FALSE(figure.choiceAt(rect.topRight() + QPointF(2, 2), layout));
        }
    CHECK_FALSE(figure.choiceAt({-5, -5}, layout));
}

TEST_CASE("thumbnails: fit their area from the smallest size on", "[figures]") {
    const FigureTheme theme = GENERATE(FigureTheme::light(12), FigureTheme::projector(20));
    for (const auto& [layers, heads] : {std::pair{1, 1}, std::pair{5, 8}, std::pair{12, 12}, std::pair{48, 25}}) {
        ThumbnailGridFigure figure = figureOf(layers, heads, 3);
        figure.keyValueHeads = heads % 4 == 0 ? heads / 4 : heads;
        const QSizeF smallest = figure.smallestSize(theme);
        for (const QSizeF& size : {smallest, smallest * 1.7}) {
            const QRectF area(QPointF(0, 0), size);
            const auto layout = figure.layout(area, theme);
            INFO(layers << " x " << heads << " in " << size.width() << " x " << size.height());
            CHECK(area.contains(figure.thumbnailRect(layout, 0, 0)));
            CHECK(area.adjusted(-1, -1, 1, 1).contains(figure.thumbnailRect(layout, layers - 1, figure.columns() - 1)));
            CHECK(layout.header.top() >= area.top());
        }
    }
}

TEST_CASE("thumbnails: heads that share keys stand under a bracket", "[figures]") {
    ThumbnailGridFigure figure = figureOf(2, 8, 6);
    const FigureTheme theme = FigureTheme::light();
    const auto hasKeyHue = [&] {
        const QImage image = painted(figure, theme, kSize);
        const auto layout = figure.layout(QRectF(QPointF(0, 0), kSize), theme);
        for (int y = 0; y < static_cast<int>(layout.header.top()); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (colourAt(image, QPointF(x, y)) == theme.key.rgb()) return true;
        return false;
    };
    CHECK_FALSE(hasKeyHue());
    figure.keyValueHeads = 4;
    CHECK(hasKeyHue());
    figure.keyValueHeads = 8;
    CHECK_FALSE(hasKeyHue());
}

TEST_CASE("thumbnails: the numbers of all heads are the patterns that are shown", "[figures]") {
    ThumbnailGridFigure figure;
    const auto grid = samples::grid(2, 3, 5);
    figure.setGrid(grid);
    const std::vector<NumberArray> arrays = figure.numbers();
    REQUIRE(arrays.size() == 1);
    CHECK(arrays[0].name == "pattern");
    CHECK(arrays[0].shape == std::vector<int64_t>{2, 3, 5, 5});
    const QStringList lines = figure.csv().split("\r\n");
    REQUIRE(lines.size() == 2 + 2 * 3 * 5 * 5);
    CHECK(lines[0] == "layer,head,query,key,weight");
    size_t at = 0;
    for (int layer = 0; layer < 2; ++layer)
        for (int head = 0; head < 3; ++head)
            for (int query = 0; query < 5; ++query)
                for (int key = 0; key < 5; ++key, ++at) {
                    const float value = arrays[0].values[at];
                    if (key > query)
                        CHECK(std::isnan(value));
                    else
                        CHECK(value == grid->at(layer, head).at(query, key));
                    CHECK(lines[static_cast<qsizetype>(at) + 1].startsWith(
                        QStringLiteral("%1,%2,%3,%4,").arg(layer).arg(head).arg(query).arg(key)));
                }

    auto pooled = std::make_shared<PatternGrid>(*grid);
    for (PatternTile& tile : pooled->tiles) tile.queryEnd = tile.keyEnd = 10;
    figure.setGrid(pooled);
    CHECK(figure.numbers()[0].name == "pattern_pooled");
    CHECK(figure.csv().split("\r\n")[0] == "layer,head,first_query,last_query,first_key,last_key,largest_weight");
    CHECK(figure.csv().split("\r\n")[1].startsWith("0,0,0,1,0,1,"));
}
