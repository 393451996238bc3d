#include "app/lab/widgets/thumbnail_grid_view.h"

#include "tests/lab_widgets/windows.h"

using namespace attn;

namespace {

struct ThumbnailFixture {
    ThumbnailGridView& view;
    explicit ThumbnailFixture(ThumbnailGridView& v, int layers = 3, int heads = 4) : view(v) {
        view.setGrid(samples::grid(layers, heads, 6), 2);
        view.setReadoutRows(samples::readoutRows(layers, heads, 6));
        present(view, {700, 480});
    }
    QPoint pointOf(int layer, int column) const {
        return view.figure().thumbnailRect(view.figureLayout(), layer, column).center().toPoint();
    }
};

} // namespace

TEST_CASE("grid view: a click chooses a head and opens it", "[lab]") {
    ThumbnailGridView view;
    const ThumbnailFixture at(view);
    QSignalSpy selected(&view, &ThumbnailGridView::selected), activated(&view, &ThumbnailGridView::activated);
    QTest::mouseClick(&view, Qt::LeftButton, {}, at.pointOf(2, 1));
    REQUIRE(selected.count() == 1);
    REQUIRE(activated.count() == 1);
    CHECK(activated[0][0].value<HeadChoice>() == HeadChoice{2, 1, HeadAggregate::None});
    QTest::mouseClick(&view, Qt::LeftButton, {}, at.pointOf(0, 4));
    CHECK(activated[1][0].value<HeadChoice>().aggregate == HeadAggregate::Mean);
    QTest::mouseClick(&view, Qt::LeftButton, {}, {1, 1});
    CHECK(activated.count() == 2);
}

TEST_CASE("grid view: arrow keys move the frame and Return opens", "[lab]") {
    ThumbnailGridView view;
    const ThumbnailFixture at(view);
    QSignalSpy activated(&view, &ThumbnailGridView::activated);
    QTest::keyClick(&view, Qt::Key_Right);
    QTest::keyClick(&view, Qt::Key_Down);
    CHECK(view.figure().selected == HeadChoice{1, 1, HeadAggregate::None});
    for (int i = 0; i < 9; ++i) QTest::keyClick(&view, Qt::Key_Right);
    CHECK(view.figure().selected.aggregate == HeadAggregate::Maximum);
    CHECK(activated.count() == 0);
    QTest::keyClick(&view, Qt::Key_Return);
    CHECK(activated.count() == 1);
    CHECK(view.accessibleDescription().contains("maximum"));
}

TEST_CASE("grid view: the framed head's picture is on screen", "[lab]") {
    ThumbnailGridView view;
    const ThumbnailFixture at(view);
    view.setSelected({1, 3, HeadAggregate::None});
    const QImage image = view.grab().toImage();
    const QRectF rect = view.figure().thumbnailRect(view.figureLayout(), 1, 3);
    for (int key = 0; key < 6; ++key) {
        const QPointF point = rect.topLeft() + QPointF((key + 0.5) * rect.width() / 6, 5.5 * rect.height() / 6);
        CHECK(colourAt(image, point) == ColourMap::of(ColourMapId::Viridis).at(samples::weightOf(5, key, 3)));
    }
    CHECK(colourAt(image, QPointF(rect.left() - 1, rect.center().y())) == FigureTheme::light().accent.rgb());
}

TEST_CASE("grid view: the newest row lights up when a token is added, then rests", "[lab]") {
    ThumbnailGridView view;
    const ThumbnailFixture at(view);
    CHECK(view.figure().glow == 0);
    view.setReadoutRows(samples::readoutRows(3, 4, 7));
    CHECK(view.figure().glow > 0.3);
    CHECK(QTest::qWaitFor([&] { return view.figure().glow == 0; }, 60'000));
}

TEST_CASE("grid view: no model, one head and many heads", "[lab]") {
    ThumbnailGridView view;
    present(view, {300, 200});
    QTest::keyClick(&view, Qt::Key_Right);
    QTest::mouseClick(&view, Qt::LeftButton, {}, {100, 100});
    CHECK_FALSE(view.grab().isNull());
    view.setGrid(samples::grid(1, 1, 1), 1);
    CHECK_FALSE(view.grab().isNull());
    const QSize small = view.minimumSizeHint();
    view.setGrid(samples::grid(48, 25, 2), 25);
    CHECK(view.minimumSizeHint().width() > small.width());
    CHECK(view.minimumSizeHint().height() > 1000);
    CHECK_FALSE(view.grab().isNull());
}
