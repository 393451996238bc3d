#include "app/figures/beam_figure.h"
#include "tests/figures/painting.h"

#include <cmath>

using namespace attn;

namespace {

using Fate = BeamNode::Fate;

const FigureTheme kTheme = FigureTheme::light();

/// A beam of two: "a" and "b" stay, then "a c" is finished and "b d" stays.
BeamFigure beam() {
    BeamFigure figure;
    figure.title = "Beam search";
    figure.width = 2;
    const auto node = [](int parent, double p, double before, Fate fate) {
        return BeamNode{
            .token = 1, .parent = parent, .logProbability = before + std::log(p), .score = std::log(p), .fate = fate};
    };
    figure.nodes = {BeamNode{},
                    node(0, 0.5, 0, Fate::Kept),
                    node(0, 0.3, 0, Fate::Kept),
                    node(0, 0.1, 0, Fate::Dropped),
                    node(0, 0.05, 0, Fate::Dropped),
                    node(0, 0.01, 0, Fate::Dropped),
                    node(1, 0.9, std::log(0.5), Fate::Finished),
                    node(2, 0.8, std::log(0.3), Fate::Kept)};
    figure.texts = {"", "a", "b", "x", "y", "z", "c", "d"};
    figure.finished = {6};
    return figure;
}

} // namespace

TEST_CASE("beam figure: a column for each token, the most probable on top, and some of the dropped", "[figures]") {
    const BeamFigure figure = beam();
    const QSizeF page = figure.pageSize({}, kTheme);
    const QRectF area(QPointF(), page);
    const auto at = figure.layout(area, kTheme);
    REQUIRE(at.size() == 8);
    CHECK(at[1].left() == at[4].left());
    CHECK(at[1].bottom() < at[2].top());
    CHECK(at[2].bottom() < at[3].top());
    CHECK(at[6].left() > at[1].right());
    CHECK(at[6].top() == at[1].top());
    CHECK(at[5].isNull()); // the third of the dropped ones
    for (const size_t node : {size_t{0}, size_t{3}, size_t{7}}) {
        CHECK(area.contains(at[node]));
        CHECK(figure.itemAt(at[node].center(), area, kTheme) == static_cast<int>(node));
    }
    CHECK_FALSE(figure.itemAt({area.right() - 1, area.bottom() - 1}, area, kTheme));
    CHECK(figure.moved(0, 1, 0) == 1);
    CHECK(figure.moved(1, 0, 1) == 2);
    CHECK(figure.moved(2, 1, 0) == 7);
    CHECK(figure.moved(7, -1, 0) == 2);
    CHECK(figure.moved(4, 0, 1) == 4); // nothing is shown below
    CHECK(figure.reading(6).contains(QString::fromUtf8("“a c”: finished. Its last token has a probability of 90.0 %")));
    CHECK(figure.reading(3).contains("dropped"));
}

TEST_CASE("beam figure: the best finished text stands out, in print and in numbers", "[figures]") {
    BeamFigure figure = beam();
    const QSize size = figure.pageSize({}, kTheme).toSize();
    const auto at = figure.layout(QRectF(QPointF(), size), kTheme);
    const auto frame = [&](const QImage& image, size_t node) {
        return image.pixelColor(QPointF(at[node].left(), at[node].center().y()).toPoint());
    };
    const QImage plain = painted(figure, kTheme, size);
    CHECK(frame(plain, 1) == kTheme.prediction);
    CHECK(frame(plain, 2) != kTheme.prediction);
    figure.chosen = 7;
    const QImage marked = painted(figure, kTheme, size);
    CHECK(frame(marked, 2) == kTheme.accent);
    CHECK(frame(marked, 1) == kTheme.prediction);
    const QStringList lines = figure.csv().split("\r\n", Qt::SkipEmptyParts);
    REQUIRE(lines.size() == 8); // a header and seven tokens
    CHECK(lines[6].startsWith("6,1,1,\"c\","));
    CHECK(lines[6].endsWith(",finished"));
    CHECK(figure.numbers().front().values == std::vector<float>{-1, 0, 0, 0, 0, 0, 1, 2});
    CHECK_FALSE(BeamFigure{}.hasNumbers());
}
