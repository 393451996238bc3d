#include "app/lab/widgets/heatmap_view.h"

#include "app/figures/token_label.h"
#include "tests/lab_widgets/windows.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

constexpr int kTokens = 30;

struct HeatmapFixture {
    HeatmapView view;

    explicit HeatmapFixture(int tokens = kTokens) {
        view.setLabels(tokenLabels(samples::sequence(tokens).get()), {});
        view.setTile(samples::sharedTile(tokens), tokens, tokens);
        view.setTitle("Layer 0, head 0");
        present(view, {640, 560});
    }
    QPoint pointOf(const Cell& cell) const { return view.figureLayout().cellRect(cell).center().toPoint(); }
    /// One notch of the wheel is 120.
    void wheel(const QPointF& position, int angle) {
        QWheelEvent event(position, view.mapToGlobal(position), {}, {0, angle}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&view, &event);
    }
};

} // namespace

TEST_CASE("heatmap view: what is on screen has the pattern's colours", "[lab]") {
    HeatmapFixture at;
    const QImage image = at.view.grab().toImage();
    const auto layout = at.view.figureLayout();
    for (int query = 0; query < kTokens; query += 3)
        for (int key = 0; key < kTokens; key += 2) {
            const QRgb expected = key > query
                                      ? at.view.theme().plot.rgb()
                                      : ColourMap::of(ColourMapId::Viridis).at(samples::weightOf(query, key, 1));
            CHECK(colourAt(image, layout.cellRect({query, key}).center()) == expected);
        }
}

TEST_CASE("heatmap view: it says its tokens, and the weight that a chosen cell has now", "[lab]") {
    HeatmapFixture at;
    CHECK(at.view.accessibleDescription().contains("Layer 0, head 0"));
    CHECK(at.view.accessibleDescription().contains("30 tokens"));
    at.view.setSelected(Cell{17, 16});
    const QString before = at.view.accessibleDescription();
    at.view.setTile(samples::sharedTile(kTokens, 0, 0, 2), kTokens, kTokens);
    CHECK(at.view.accessibleDescription() != before);
    at.view.setTile(nullptr, 0, 0);
    CHECK(at.view.accessibleDescription() == "Nothing to show yet.");
}

TEST_CASE("heatmap view: a key after the query is masked only if the query does not see it", "[lab]") {
    HeatmapFixture at;
    at.view.setSelected(Cell{4, 7});
    CHECK(at.view.accessibleDescription().contains("masked, the key is after the query"));
    const auto both = std::make_shared<PatternTile>(*samples::sharedTile(kTokens));
    for (float& weight : both->values) weight = 0.25f; // of a model that looks both ways
    at.view.setTile(both, kTokens, kTokens);
    CHECK_FALSE(at.view.accessibleDescription().contains("masked"));
    CHECK(at.view.accessibleDescription().contains("25.00 %"));
}

TEST_CASE("heatmap view: a click selects the cell under it", "[lab]") {
    HeatmapFixture at;
    QSignalSpy selected(&at.view, &HeatmapView::cellSelected);
    QTest::mouseClick(&at.view, Qt::LeftButton, {}, at.pointOf({17, 5}));
    REQUIRE(selected.count() == 1);
    CHECK(selected[0] == QVariantList{17, 5});
    CHECK(at.view.figure().selected == Cell{17, 5});
    CHECK(at.view.accessibleDescription().contains("17"));
    QTest::mouseClick(&at.view, Qt::LeftButton, {}, {3, 3});
    CHECK(selected.count() == 1);
}

TEST_CASE("heatmap view: arrow keys move the selected cell and stop at the edges", "[lab]") {
    HeatmapFixture at;
    QSignalSpy selected(&at.view, &HeatmapView::cellSelected), opened(&at.view, &HeatmapView::cellActivated);
    QTest::mouseClick(&at.view, Qt::LeftButton, {}, at.pointOf({4, 1}));
    QTest::keyClick(&at.view, Qt::Key_Right);
    QTest::keyClick(&at.view, Qt::Key_Down);
    CHECK(at.view.figure().selected == Cell{5, 2});
    for (int i = 0; i < 5; ++i) QTest::keyClick(&at.view, Qt::Key_Left);
    CHECK(at.view.figure().selected == Cell{5, 0});
    CHECK(selected.count() == 1 + 2 + 2);
    QTest::keyClick(&at.view, Qt::Key_Return);
    REQUIRE(opened.count() == 1);
    CHECK(opened[0] == QVariantList{5, 0});
}

TEST_CASE("heatmap view: the wheel keeps the cell under the cursor", "[lab]") {
    HeatmapFixture at;
    for (const Cell& cell : {Cell{20, 7}, Cell{3, 2}, Cell{28, 27}}) {
        at.view.resetZoom();
        const QPoint point = at.pointOf(cell);
        for (int notch = 0; notch < 6; ++notch) {
            const double before = at.view.visibleWindow().width();
            at.wheel(point, 120);
            CHECK(at.view.visibleWindow().width() < before);
            CHECK(at.view.figure().cellAt(point, at.view.figureLayout()) == cell);
        }
        for (int notch = 0; notch < 12; ++notch) at.wheel(point, -120);
        CHECK_FALSE(at.view.isZoomed());
    }
}

TEST_CASE("heatmap view: dragging moves the picture with the pointer", "[lab]") {
    HeatmapFixture at;
    at.view.zoomAt(at.pointOf({15, 15}), 3);
    QSignalSpy selected(&at.view, &HeatmapView::cellSelected);
    const QPoint from = at.view.figureLayout().plot.center().toPoint(), to = from + QPoint(60, 40);
    const QPointF grabbed = at.view.figureLayout().tokensAt(from);
    QTest::mousePress(&at.view, Qt::LeftButton, {}, from);
    for (const QPoint& step : {from + QPoint(20, 10), to}) {
        QMouseEvent move(QEvent::MouseMove, step, at.view.mapToGlobal(step), Qt::NoButton, Qt::LeftButton,
                         Qt::NoModifier);
        QApplication::sendEvent(&at.view, &move);
    }
    QTest::mouseRelease(&at.view, Qt::LeftButton, {}, to);
    const QPointF there = at.view.figureLayout().tokensAt(to);
    CHECK(there.x() == Approx(grabbed.x()).margin(0.1));
    CHECK(there.y() == Approx(grabbed.y()).margin(0.1));
    CHECK(selected.count() == 0);
}

TEST_CASE("heatmap view: a double click and Home show everything again", "[lab]") {
    HeatmapFixture at;
    QSignalSpy windows(&at.view, &HeatmapView::windowChanged);
    at.view.zoomAt(at.pointOf({10, 4}), 4);
    REQUIRE(at.view.isZoomed());
    QTest::mouseDClick(&at.view, Qt::LeftButton, {}, at.pointOf({10, 4}));
    CHECK_FALSE(at.view.isZoomed());
    QTest::keyClick(&at.view, Qt::Key_Plus);
    CHECK(at.view.isZoomed());
    QTest::keyClick(&at.view, Qt::Key_Home);
    CHECK_FALSE(at.view.isZoomed());
    CHECK(windows.count() == 4);
}

TEST_CASE("heatmap view: hovering tells query and key, leaving takes it back", "[lab]") {
    HeatmapFixture at;
    QSignalSpy hovered(&at.view, &HeatmapView::hovered), left(&at.view, &HeatmapView::hoverLeft);
    hover(at.view, at.pointOf({12, 3}));
    REQUIRE(QTest::qWaitFor([&] { return hovered.count() > 0; }, 60'000));
    CHECK(hovered.last() == QVariantList{12, 3});
    CHECK(at.view.figure().hovered == Cell{12, 3});
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&at.view, &leave);
    CHECK(left.count() == 1);
    CHECK_FALSE(at.view.figure().hovered);
}

TEST_CASE("heatmap view: a shorter text drops what pointed past its end", "[lab]") {
    HeatmapFixture at;
    at.view.setSelected(Cell{29, 29});
    at.view.zoomAt(at.pointOf({28, 28}), 5);
    at.view.setTile(samples::sharedTile(4), 4, 4);
    CHECK_FALSE(at.view.figure().selected);
    CHECK_FALSE(at.view.isZoomed());
    at.view.setTile(nullptr, 0, 0);
    QTest::keyClick(&at.view, Qt::Key_Down);
    at.wheel({100, 100}, 120);
    CHECK_FALSE(at.view.grab().isNull());
}

TEST_CASE("heatmap view: one token and 512 tokens draw", "[lab]") {
    const int tokens = GENERATE(1, 512);
    HeatmapFixture at(tokens);
    CHECK(at.view.figure().cellAt(at.pointOf({0, 0}), at.view.figureLayout()));
    QTest::keyClick(&at.view, Qt::Key_Plus);
    QTest::keyClick(&at.view, Qt::Key_Down);
    CHECK(at.view.isZoomed() == (tokens > 1));
    CHECK_FALSE(at.view.grab().isNull());
}
