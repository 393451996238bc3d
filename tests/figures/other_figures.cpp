#include "app/figures/cell_figure.h"
#include "app/figures/colour_map.h"
#include "app/figures/next_token_figure.h"
#include "app/figures/weight_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

std::map<QString, std::vector<double>> columns(const QString& csv) {
    std::map<QString, std::vector<double>> result;
    for (const QString& line : csv.split("\r\n", Qt::SkipEmptyParts).mid(1)) {
        const QStringList fields = line.split(',');
        result[fields[0]].push_back(fields[2].toDouble());
    }
    return result;
}

WeightView weight(int rows, int columns) {
    WeightView view{.name = "blocks.0.attn.W_Q",
                    .shape = {rows, columns},
                    .rows = rows,
                    .columns = columns,
                    .minimum = -1,
                    .maximum = 1,
                    .histogram = {1, 4, 9, 4, 1}};
    for (int i = 0; i < rows * columns; ++i) view.values.push_back(i % 2 == 0 ? 1.0f : -1.0f);
    return view;
}

} // namespace

TEST_CASE("cell: the terms of its table sum to the numbers shown", "[figures]") {
    CellFigure figure;
    figure.explanation = samples::explanation(4, 2, 16);
    auto table = columns(figure.csv());
    REQUIRE(table["product"].size() == 16);
    CHECK(std::accumulate(table["product"].begin(), table["product"].end(), 0.0) ==
          Approx(table["dot"][0]).margin(1e-5));
    CHECK(table["dot"][0] * table["scale"][0] == Approx(table["score"][0]).margin(1e-5));
    CHECK(std::exp(table["score"][0] - table["row maximum"][0]) / table["row sum"][0] ==
          Approx(table["probability"][0]).margin(1e-5));
    for (size_t d = 0; d < 16; ++d) {
        CHECK(table["q"][d] * table["k"][d] == Approx(table["product"][d]).margin(1e-6));
        CHECK(table["probability"][0] * table["v"][d] == Approx(table["contribution"][d]).margin(1e-6));
    }
}

TEST_CASE("cell: terms of the score stand in its table; what has no arithmetic is a sentence", "[figures]") {
    CellFigure figure;
    auto cell = *samples::explanation(4, 2);
    cell.terms = {{"position_bias", -0.5f}, {"mask_factor", -0.25f}};
    cell.score += -0.75f;
    const FigureTheme theme = FigureTheme::light();
    const double plain = [&] {
        figure.explanation = samples::explanation(4, 2);
        return figure.heightForWidth(260, theme);
    }();
    figure.explanation = std::make_shared<const CellExplanation>(cell);
    CHECK(figure.heightForWidth(260, theme) > plain); // the sum takes more lines
    auto table = columns(figure.csv());
    CHECK(table["dot"][0] * table["scale"][0] + table["position_bias"][0] + table["mask_factor"][0] ==
          Approx(table["score"][0]).margin(1e-5));
    CellExplanation none{.remark = "Additive scores are no sum of products.", .query = 4, .key = 2};
    figure.explanation = std::make_shared<const CellExplanation>(none);
    CHECK(figure.heightForWidth(260, theme) < plain / 2);
    CHECK_FALSE(painted(figure, theme, {260, 120}).isNull());
}

TEST_CASE("cell: many columns of zeros take one line", "[figures]") {
    CellFigure figure;
    auto cell = *samples::explanation(4, 2, 88);
    const FigureTheme theme = FigureTheme::light();
    const auto height = [&] {
        figure.explanation = std::make_shared<const CellExplanation>(cell);
        return figure.heightForWidth(400, theme);
    };
    const double full = height();
    for (auto* vector : {&cell.q, &cell.k, &cell.products, &cell.v, &cell.contribution})
        for (size_t i = 0; i < vector->size(); ++i)
            if (i != 40) (*vector)[i] = 0;
    const double one = height();
    CHECK(one < full / 2);
    for (auto* vector : {&cell.q, &cell.k, &cell.products, &cell.v, &cell.contribution}) (*vector)[40] = 0;
    CHECK(height() < one);
    CHECK_FALSE(painted(figure, theme, {400, static_cast<int>(height())}).isNull());
}

TEST_CASE("cell: it names the heatmap only for the number that the heatmap shows", "[figures]") {
    CellFigure figure;
    figure.explanation = samples::explanation(4, 2);
    CHECK(figure.aloneText().isEmpty());
    CHECK(figure.deviceText().startsWith("The run gives"));
    figure.isInHeatmap = true;
    CHECK(figure.deviceText().startsWith("The heatmap shows"));
    figure.isInHeatmap = false;
    const double plain = figure.heightForWidth(400, FigureTheme::light());
    for (const auto& [aggregate, name] :
         {std::pair(HeadAggregate::Mean, "the mean"), std::pair(HeadAggregate::Maximum, "the maximum")}) {
        figure.aggregate = aggregate;
        CHECK(figure.aloneText().contains("alone"));
        CHECK(figure.aloneText().contains(name));
        CHECK(figure.heightForWidth(400, FigureTheme::light()) > plain); // it is drawn
    }
}

TEST_CASE("cell: takes more height where it is narrow and draws at any width", "[figures]") {
    CellFigure figure;
    const FigureTheme theme = FigureTheme::dark();
    CHECK(figure.heightForWidth(400, theme) > 0);
    CHECK_FALSE(painted(figure, theme, {300, 120}).isNull());
    figure.labels = {"a", "b", "世界", "d", "שלום"};
    for (int key : {2, 5}) {
        figure.explanation = samples::explanation(4, key, 64);
        CHECK(figure.heightForWidth(300, theme) > figure.heightForWidth(900, theme));
        for (int width : {30, 300, 1200})
            CHECK_FALSE(
                painted(figure, theme, {width, static_cast<int>(figure.heightForWidth(width, theme))}).isNull());
    }
}

TEST_CASE("cell: the measured height is the drawn one", "[figures]") {
    CellFigure figure;
    figure.explanation = samples::explanation(4, 2, 24);
    const FigureTheme theme = FigureTheme::light();
    const int height = static_cast<int>(figure.heightForWidth(500, theme));
    const QImage image = painted(figure, theme, {500, height + 60});
    const auto isBlank = [&](int y) {
        for (int x = 0; x < image.width(); ++x)
            if ((image.pixel(x, y) | 0xff000000) != theme.background.rgb()) return false;
        return true;
    };
    for (int y = height; y < height + 60; ++y) CHECK(isBlank(y));
    bool hasInk = false;
    for (int y = height - 40; y < height; ++y) hasInk = hasInk || !isBlank(y);
    CHECK(hasInk);
}

TEST_CASE("next token: bars are as long as their probabilities", "[figures]") {
    NextTokenFigure figure;
    figure.bars = {{"␣the", 7, 0.5f, 3.25f}, {"世界", 9, 0.25f, 2.5f}, {"x", 3, 0, -4}};
    const FigureTheme theme = FigureTheme::light();
    const QImage image = painted(figure, theme, {500, 200});
    const auto length = [&](int index) {
        const int y = static_cast<int>(figure.barRow(index, QRectF(0, 0, 500, 200), theme).center().y());
        int count = 0;
        for (int x = 0; x < 500; ++x) count += (image.pixel(x, y) | 0xff000000) == theme.prediction.rgb();
        return count;
    };
    CHECK(length(0) > 50);
    CHECK(std::abs(length(0) - 2 * length(1)) <= 3);
    CHECK(length(2) == 0);
    CHECK(
        figure.csv() ==
        QStringLiteral("token,id,probability,logit\r\n\"␣the\",7,0.5,3.25\r\n\"世界\",9,0.25,2.5\r\n\"x\",3,0,-4\r\n"));
}

TEST_CASE("weight: signs have their colours and a point finds its element", "[figures]") {
    WeightFigure figure;
    figure.weight = std::make_shared<const WeightView>(weight(4, 6));
    const FigureTheme theme = FigureTheme::light();
    for (const QSize& size : {QSize(800, 400), QSize(400, 600)}) {
        const QRectF area(QPointF(0, 0), size), plot = figure.plotRect(area, theme);
        REQUIRE(area.contains(plot));
        const QImage image = painted(figure, theme, size);
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 6; ++column) {
                const QPointF point(plot.left() + (column + 0.5) * plot.width() / 6,
                                    plot.top() + (row + 0.5) * plot.height() / 4);
                const float value = (row * 6 + column) % 2 == 0 ? 1.0f : -1.0f;
                CHECK((image.pixel(point.toPoint()) | 0xff000000) ==
                      ColourMap::of(ColourMapId::Diverging).at(value > 0 ? 1.0f : 0.0f));
                const auto element = figure.elementAt(point, area, theme);
                REQUIRE(element);
                CHECK(element->row == row);
                CHECK(element->column == column);
                CHECK(element->value == value);
            }
    }
}

TEST_CASE("weight: vectors, NaN and nothing at all draw", "[figures]") {
    WeightFigure figure;
    CHECK(figure.csv().isEmpty());
    CHECK_FALSE(painted(figure, FigureTheme::light(), {300, 200}).isNull());
    WeightView vector = weight(1, 500);
    vector.values[3] = NAN;
    figure.weight = std::make_shared<const WeightView>(vector);
    CHECK_FALSE(painted(figure, FigureTheme::dark(), {300, 200}).isNull());
    CHECK_FALSE(painted(figure, FigureTheme::dark(), {30, 20}).isNull());
}
