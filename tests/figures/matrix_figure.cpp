#include "app/figures/matrix_figure.h"

#include "app/figures/drawing.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

const FigureTheme kTheme = FigureTheme::light();
constexpr float kHidden = std::numeric_limits<float>::quiet_NaN();

QColor drawnAt(const MatrixFigure& figure, const MatrixCell& cell) {
    const QSize size(320, 260);
    const auto at = figure.layout(QRectF(QPointF(), size), kTheme);
    return painted(figure, kTheme, size).pixelColor(at.cellRect(cell).center().toPoint());
}

} // namespace

TEST_CASE("matrix: signed colours are symmetric about zero, and hidden cells have none", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(2, 3, {-1, 0, 2, kHidden, 1, -2});
    CHECK(figure.largest() == 2);
    CHECK(figure.colourOf(0, kTheme) == QColor(ColourMap::of(ColourMapId::Diverging).at(0.5f)));
    CHECK(figure.colourOf(2, kTheme) == QColor(ColourMap::of(ColourMapId::Diverging).at(1)));
    CHECK(figure.colourOf(-2, kTheme) == QColor(ColourMap::of(ColourMapId::Diverging).at(0)));
    for (const MatrixCell& cell :
         {MatrixCell{0, 0}, MatrixCell{0, 1}, MatrixCell{0, 2}, MatrixCell{1, 1}, MatrixCell{1, 2}})
        CHECK(drawnAt(figure, cell) == figure.colourOf(figure.valueAt(cell), kTheme));
    CHECK(drawnAt(figure, {1, 0}) == kTheme.plot);
}

TEST_CASE("matrix: a point finds the cell that is drawn there, and none beside the plot", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(4, 7, std::vector<float>(28, 1));
    for (const QSize& size : {QSize(120, 110), QSize(320, 260), QSize(900, 300)}) {
        const auto at = figure.layout(QRectF(QPointF(), size), kTheme);
        CHECK(figure.cellAt(at.cellRect({3, 6}).center(), at) == MatrixCell{3, 6});
        CHECK(figure.cellAt(at.cellRect({0, 0}).center(), at) == MatrixCell{0, 0});
        CHECK_FALSE(figure.cellAt(at.plot.bottomRight() + QPointF(3, 3), at));
    }
}

TEST_CASE("matrix: columns aside stand apart, and have a colour scale and a bar of their own", "[figures]") {
    MatrixFigure figure;
    figure.aside = {.columns = 1, .name = "MLPs", .others = "heads"};
    figure.setMatrix(2, 3, {0.1f, -0.2f, 8, 0, 0.2f, -4});
    CHECK(figure.largest(0) == 0.2f);
    CHECK(figure.largest(2) == 8);
    const ColourMap& colours = ColourMap::of(ColourMapId::Diverging);
    CHECK(drawnAt(figure, {0, 1}) == QColor(colours.at(0)));
    CHECK(drawnAt(figure, {0, 2}) == QColor(colours.at(1)));
    CHECK(drawnAt(figure, {1, 2}) == QColor(colours.at(0.25f)));
    const auto at = figure.layout(QRectF(0, 0, 320, 260), kTheme);
    CHECK(at.cellRect({0, 2}).left() >= at.cellRect({0, 1}).right() + 8);
    CHECK(at.cellRect({0, 2}).right() == Approx(at.plot.right()));
    CHECK(at.asideBar.left() > at.bar.right());
    CHECK(at.asideBar.right() < 320);
    for (const MatrixCell& cell : {MatrixCell{0, 1}, MatrixCell{1, 2}})
        CHECK(figure.cellAt(at.cellRect(cell).center(), at) == cell);
    CHECK_FALSE(figure.cellAt(QPointF(at.cellRect({0, 1}).right() + 4, at.plot.center().y()), at));
}

TEST_CASE("matrix: values are written into the cells where all of them fit", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(2, 2, {-0.25f, 0.5f, 1, kHidden});
    const auto inkIn = [&](const MatrixCell& cell, const QSize& size) {
        const auto rect = figure.layout(QRectF(QPointF(), size), kTheme).cellRect(cell).toAlignedRect();
        figure.writesValues = false;
        const QImage plain = painted(figure, kTheme, size).copy(rect);
        figure.writesValues = true;
        const QImage written = painted(figure, kTheme, size).copy(rect);
        return plain != written;
    };
    CHECK(inkIn({0, 0}, {320, 260}));
    CHECK(inkIn({1, 0}, {320, 260}));
    CHECK_FALSE(inkIn({1, 1}, {320, 260})); // hidden
    CHECK_FALSE(inkIn({0, 0}, {60, 60}));
}

TEST_CASE("matrix: cells are equally large with and without a colour bar", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(9, 9, std::vector<float>(81, 1));
    for (const QSize& size : {QSize(120, 110), QSize(260, 300), QSize(500, 300)}) {
        const auto cellOf = [&](MatrixFigure::Kind kind) {
            figure.kind = kind;
            return figure.layout(QRectF(QPointF(), size), kTheme).cellWidth;
        };
        CHECK(cellOf(MatrixFigure::Kind::Cells) == cellOf(MatrixFigure::Kind::Weights));
    }
}

TEST_CASE("matrix: rows and columns without names show their numbers, as many as fit", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(30, 30, std::vector<float>(900, 1));
    const QSize size(320, 260);
    const auto inkAbove = [&] { // one entry per column of pixels
        const auto at = figure.layout(QRectF(QPointF(), size), kTheme);
        const QImage image = painted(figure, kTheme, size);
        std::vector<bool> hasInk;
        for (int x = static_cast<int>(at.plot.left()) - 8; x < static_cast<int>(at.plot.right()) + 8; ++x) {
            hasInk.push_back(false);
            for (int y = static_cast<int>(at.plot.top() - at.columnLabels); y < static_cast<int>(at.plot.top()) - 2;
                 ++y)
                if (image.pixelColor(x, y).lightness() < 128) hasInk.back() = true;
        }
        return hasInk;
    };
    const auto plain = figure.layout(QRectF(QPointF(), size), kTheme);
    CHECK(plain.rowLabels == 0);
    figure.numbersAxes = true;
    const auto at = figure.layout(QRectF(QPointF(), size), kTheme);
    CHECK(at.rowLabels > 0);
    CHECK(at.columnLabels > 0);
    REQUIRE(at.cellWidth < 8); // less than a number of two digits
    const std::vector<bool> ink = inkAbove();
    const auto share = static_cast<double>(std::ranges::count(ink, true)) / static_cast<double>(ink.size());
    CHECK(share > 0.2);
    CHECK(share < 0.8);
    CHECK(figure.rowName(7) == "7");
    CHECK(figure.layout(QRectF(0, 0, 60, 60), kTheme).rowLabels == 0);
    figure.rowLabels.assign(30, QStringLiteral("word"));
    CHECK(figure.rowName(7) == QStringLiteral("7 “word”"));
    CHECK(figure.layout(QRectF(QPointF(), size), kTheme).columnLabels == at.columnLabels);
}

TEST_CASE("matrix: its numbers are written as they are", "[figures]") {
    MatrixFigure figure;
    figure.title = "Scores";
    figure.setMatrix(2, 2, {0.5f, kHidden, -1, 3});
    CHECK(figure.csv() == ",0,1\r\n0,0.5,\r\n1,-1,3\r\n");
    REQUIRE(figure.numbers().size() == 1);
    CHECK(figure.numbers().front().shape == std::vector<int64_t>{2, 2});
}

TEST_CASE("matrix: labels of rows and columns take room in all but the smallest figures, and name a cell",
          "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(3, 3, std::vector<float>(9, 1));
    figure.rowLabels = figure.columnLabels = {"a", "cat", "sat"};
    const auto large = figure.layout(QRectF(0, 0, 400, 400), kTheme),
               small = figure.layout(QRectF(0, 0, 50, 50), kTheme);
    CHECK(large.rowLabels > 0);
    CHECK(large.columnLabels > 0);
    CHECK(small.rowLabels == 0);
    CHECK(figure.rowName(1) == QStringLiteral("1 “cat”"));
    CHECK(figure.cellAt(large.cellRect({2, 1}).center(), large) == MatrixCell{2, 1});
}

TEST_CASE("matrix: rows and columns that have only names keep them in a small figure of large text", "[figures]") {
    const FigureTheme projector = FigureTheme::projector(20);
    MatrixFigure figure;
    figure.setMatrix(4, 4, std::vector<float>(16, 1));
    figure.rowLabels = {"L0", "L1", "L2", "L3"};
    figure.columnLabels = {"H0", "H1", "H2", "H3"};
    for (const QSizeF& size : {QSizeF(230, 170), QSizeF(150, 130)}) {
        figure.rowsAreNamed = figure.columnsAreNamed = true;
        const auto named = figure.layout(QRectF(QPointF(), size), projector);
        CHECK(named.rowLabels > 0);
        CHECK(named.columnLabels > 0);
        CHECK(named.plot.left() >= named.rowLabels);
        CHECK(QRectF(QPointF(), size).contains(named.plot));
        figure.rowsAreNamed = figure.columnsAreNamed = false; // numbers stand in the readings
        CHECK(figure.layout(QRectF(QPointF(), size), projector).rowLabels == 0);
    }
}

TEST_CASE("matrix: columns of pairs of names have more room than those of single names", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(3, 3, std::vector<float>(9, 1));
    figure.columnLabels = {"a", "understandable", "b"};
    const double single = figure.layout(QRectF(0, 0, 320, 260), kTheme).columnLabels;
    figure.columnLabels[1] = pairLabel("understandable", "misunderstanding");
    CHECK(figure.layout(QRectF(0, 0, 320, 260), kTheme).columnLabels > single);
}

TEST_CASE("matrix: of many words on an axis those are drawn that fit, and the one that is pointed at", "[figures]") {
    MatrixFigure figure;
    figure.setMatrix(40, 40, std::vector<float>(1600, 1));
    const QSize size(320, 260);
    const auto inkBeside = [&] {
        const auto at = figure.layout(QRectF(QPointF(), size), kTheme);
        const QImage image = painted(figure, kTheme, size);
        int count = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = static_cast<int>(at.plot.left() - at.rowLabels); x < static_cast<int>(at.plot.left()) - 3; ++x)
                if (image.pixelColor(x, y).lightness() < 128) ++count;
        return count;
    };
    figure.rowLabels.assign(40, QStringLiteral("word"));
    REQUIRE(figure.layout(QRectF(QPointF(), size), kTheme).cellHeight < 6); // less than a line of text
    const int some = inkBeside();
    CHECK(some > 300); // about ten words
    figure.hovered = MatrixCell{1, 0};
    figure.rowLabels[1] = QStringLiteral("WWWW");
    CHECK(inkBeside() != some);
}

TEST_CASE("matrix: words stand in cells that have room for them, which grow for them", "[figures]") {
    MatrixFigure plain, worded;
    plain.setMatrix(6, 4, std::vector<float>(24, 0.25f));
    worded.setMatrix(6, 4, std::vector<float>(24, 0.25f));
    worded.words.assign(24, QStringLiteral("word"));
    const QSize small(90, 80), large(640, 260);
    const auto width = [&](const MatrixFigure& figure) {
        return figure.layout(QRectF(QPointF(), large), kTheme).cellRect({0, 0}).width();
    };
    CHECK(width(worded) > width(plain));
    const auto written = [&](const QSize& size) { // pixels inside a cell that are not of its colour
        const QImage image = painted(worded, kTheme, size);
        const QRect cell = worded.layout(QRectF(QPointF(), size), kTheme).cellRect({2, 1}).toRect();
        const QRgb ground = worded.colourOf(0.25f, kTheme).rgb();
        int count = 0;
        for (int y = cell.top() + 3; y < cell.bottom() - 3; ++y)
            for (int x = cell.left() + 3; x < cell.right() - 3; ++x) count += image.pixel(x, y) != ground ? 1 : 0;
        return count;
    };
    CHECK(written(small) == 0);
    CHECK(written(large) > 40);
    CHECK(written(large) < 1500);
}
