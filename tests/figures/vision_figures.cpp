#include "app/figures/distance_figure.h"
#include "app/figures/drawing.h"
#include "app/figures/tiles_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

const FigureTheme kVisionTheme = FigureTheme::light();
const QSize kVisionSize(360, 280);
const QRectF kVisionArea{QPointF(), QSizeF(kVisionSize)};

/// Three layers of two heads.
DistanceFigure distances() {
    DistanceFigure figure;
    figure.title = "Distance";
    figure.heads = 2;
    figure.farthest = 20;
    figure.distances = {{2, 10}, {15, std::nanf("")}, {18, 19}};
    return figure;
}

/// Five tiles of 2 x 2 pixels.
TilesFigure tiles() {
    TilesFigure figure;
    figure.title = "Filters";
    figure.data = {.name = "filters", .shape = {5, 1, 2, 2}, .values = {}};
    for (int tile = 0; tile < 5; ++tile) {
        const std::vector<float> values{0, 1, 2, static_cast<float>(3 + tile)};
        figure.data.values.insert(figure.data.values.end(), values.begin(), values.end());
        figure.tiles.push_back(tileOf(values, 1, 2, 2));
        figure.names.push_back(QString("Filter %1").arg(tile));
    }
    return figure;
}

} // namespace

TEST_CASE("distance figure: dots stand as high as their numbers, and are found where they are", "[figures][vision]") {
    const DistanceFigure figure = distances();
    const QRectF plot = figure.plot(kVisionArea, kVisionTheme);
    CHECK(figure.dot(1, plot).y() == Approx(plot.center().y())); // 10 of 20
    CHECK(figure.dot(0, plot).x() == figure.dot(1, plot).x());
    CHECK(figure.dot(4, plot).x() > figure.dot(2, plot).x());
    for (const int item : {0, 1, 2, 4, 5})
        CHECK(figure.itemAt(figure.dot(item, plot) + QPointF(1, 0), kVisionArea, kVisionTheme) == item);
    CHECK_FALSE(figure.itemAt(plot.topLeft() + QPointF(20, 20), kVisionArea, kVisionTheme));
    const QImage image = painted(figure, kVisionTheme, kVisionSize);
    CHECK(image.pixelColor(figure.dot(0, plot).toPoint()) == seriesColour(0)); // the first head's colour
    CHECK(image.pixelColor(figure.dot(2, plot).toPoint()) == seriesColour(0));
    CHECK(figure.reading(1) == "L0 H1: 10.0 pixels");
    CHECK(figure.reading(3) == "L1 H1: looks at no patch");
    CHECK(figure.moved(0, 1, 0) == 2);
    CHECK(figure.moved(0, 0, -1) == 1); // up, to the one that looks farther
    CHECK(figure.moved(1, 0, -1) == 1);
    CHECK(figure.moved(4, 1, 0) == 4);
    CHECK(figure.csv() == "layer,head,pixels\r\n0,0,2\r\n0,1,10\r\n1,0,15\r\n1,1,\r\n2,0,18\r\n2,1,19\r\n");
    CHECK(figure.numbers().front().shape == std::vector<int64_t>{3, 2});
    painted(DistanceFigure{}, kVisionTheme, kVisionSize);
}

TEST_CASE("tiles: each has its own range, and stands where the pointer finds it", "[figures][vision]") {
    TilesFigure figure = tiles();
    CHECK(figure.tiles[2].pixelColor(0, 0) == QColor(0, 0, 0)); // each from black to white
    CHECK(figure.tiles[2].pixelColor(1, 1) == QColor(255, 255, 255));
    CHECK(figure.tiles[1].pixelColor(0, 1).red() == 128); // 2 of 4
    for (const int columns : {0, 2, 5}) {
        figure.columns = columns;
        const auto at = figure.layout(kVisionArea, kVisionTheme);
        const QImage image = painted(figure, kVisionTheme, kVisionSize);
        for (int item = 0; item < 5; ++item) {
            const QRectF rect = at.tile(item);
            CHECK(kVisionArea.contains(rect));
            CHECK(figure.itemAt(rect.center(), kVisionArea, kVisionTheme) == item);
            CHECK(image.pixelColor((rect.bottomRight() - QPointF(3, 3)).toPoint()) == QColor(Qt::white));
            CHECK(image.pixelColor((rect.topLeft() + QPointF(3, 3)).toPoint()) == QColor(Qt::black));
        }
    }
    figure.columns = 2;
    painted(figure, kVisionTheme, kVisionSize);
    CHECK(figure.moved(0, 1, 0) == 1);
    CHECK(figure.moved(1, 1, 0) == 1); // the row ends
    CHECK(figure.moved(1, 0, 1) == 3);
    CHECK(figure.moved(3, 0, 1) == 3); // nothing below
    CHECK(figure.csv().startsWith("\"Filter 0\",0,1,2,3\r\n"));
    CHECK(figure.numbers().front().values.size() == 20);
    TilesFigure empty;
    empty.emptyText = "Nothing";
    CHECK_FALSE(empty.itemAt(kVisionArea.center(), kVisionArea, kVisionTheme));
    CHECK(empty.csv().isEmpty());
    painted(empty, kVisionTheme, kVisionSize);
}

TEST_CASE("tiles: three channels are colours, and a shared range has a map", "[figures][vision]") {
    const std::vector<float> red{1, 0, 0};
    CHECK(tileOf(red, 3, 1, 1).pixelColor(0, 0) == QColor(255, 0, 0));
    CHECK(tileOf(std::vector<float>{4, 4}, 1, 1, 2).pixelColor(0, 0) == QColor(127, 127, 127)); // no range
    const QImage shared = tileOf(std::vector<float>{-1, 0.5f, 2}, 1, 3, {-1, 2}, ColourMapId::Viridis);
    const ColourMap& map = ColourMap::of(ColourMapId::Viridis);
    CHECK(shared.pixel(0, 0) == map.at(0));
    CHECK(shared.pixel(1, 0) == map.at(0.5f));
    CHECK(shared.pixel(2, 0) == map.at(1));
}
