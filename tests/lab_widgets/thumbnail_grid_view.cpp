#include "app/lab/widgets/thumbnail_grid_view.h"

#include "app/lab/widgets/head_preview.h"
#include "tests/lab_widgets/windows.h"
#include "tests/support/hover.h"

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

TEST_CASE("grid view: thumbnails stretch to fill the view, and exported ones stay square", "[lab]") {
    ThumbnailGridView view;
    const ThumbnailFixture at(view); // 3 layers, 4 heads, mean and maximum
    const auto last = view.figure().thumbnailRect(view.figureLayout(), 2, 5);
    CHECK(last.right() > 0.95 * view.width());
    CHECK(last.bottom() > 0.95 * view.height());
    CHECK(last.height() < 2 * last.width());
    CHECK(last.width() < 2 * last.height());
    const QSizeF square = view.figure().layout(view.rect(), view.theme()).origin.size();
    CHECK(square.width() == square.height());
}

TEST_CASE("grid view: the head under the pointer is shown large beside it, with its words", "[lab]") {
    ThumbnailGridView view;
    view.setWords([](const HeadChoice&) {
        return ThumbnailGridView::HeadWords{.queries = {"a", "b", "c", "d", "e", "f"}, .keys = {}, .condition = {}};
    });
    const ThumbnailFixture at(view);
    const auto preview = [&] { return view.findChild<HeadPreview*>("headPreview"); };
    for (const int column : {0, 5})
        for (const int layer : {0, 2}) {
            CAPTURE(layer, column);
            const QPoint point = at.pointOf(layer, column);
            hover(view, point);
            REQUIRE(preview());
            CHECK(preview()->isVisible());
            CHECK(preview()->figure().tile == view.figure().tile(view.figure().choiceOf(layer, column)));
            CHECK(preview()->figure().queryLabelOf(3) == "d");
            const QRectF thumbnail = view.figure().thumbnailRect(view.figureLayout(), layer, column);
            CHECK_FALSE(thumbnail.intersects(preview()->geometry()));
            CHECK(view.rect().contains(preview()->geometry()));
            CHECK(preview()->figureLayout().plot.width() > 1.5 * thumbnail.width());
        }
    view.setGrid(samples::grid(3, 4, 7), 2); // a new token under a pointer that rests
    CHECK(preview()->isVisible());
    CHECK(preview()->figure().tile->rows == 7);
    QEvent leave(QEvent::Leave);
    QCoreApplication::sendEvent(&view, &leave);
    CHECK_FALSE(preview()->isVisible());
    hover(view, at.pointOf(1, 1));
    CHECK(preview()->isVisible());
    view.hide();
    CHECK_FALSE(preview()->isVisible());
}

TEST_CASE("grid view: the large head lies over visible thumbnails alone, until Escape", "[lab]") {
    QWidget window;
    auto* column = new QVBoxLayout(&window);
    auto* tools = new QPushButton("tools");
    tools->setFixedHeight(200);
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    auto* view = new ThumbnailGridView;
    area->setWidget(view);
    column->addWidget(tools);
    column->addWidget(area);
    view->setGrid(samples::grid(24, 4, 6), 2);
    int stops = 0; // Escape stops a task of the window
    const QShortcut stop(QKeySequence(Qt::Key_Escape), &window, [&] { ++stops; });
    present(window, {700, 560});
    REQUIRE(QTest::qWaitForWindowActive(&window, 60'000));
    REQUIRE(view->height() > area->viewport()->height());
    const auto hoverHead = [&](int layer, int head) {
        hover(*view, view->figure().thumbnailRect(view->figureLayout(), layer, head).center().toPoint());
    };
    for (const int layer : {0, 2}) {
        hoverHead(layer, 1);
        const auto* preview = window.findChild<HeadPreview*>("headPreview");
        REQUIRE(preview);
        CHECK(preview->isVisible());
        CHECK(
            area->viewport()->rect().contains(QRect(preview->mapTo(area->viewport(), QPoint(0, 0)), preview->size())));
    }
    const auto* preview = window.findChild<HeadPreview*>("headPreview");
    QTest::keyClick(tools, Qt::Key_Escape);
    CHECK_FALSE(preview->isVisible());
    CHECK(stops == 0);
    hoverHead(2, 1); // the pointer trembles
    view->setGrid(samples::grid(24, 4, 7), 2);
    CHECK_FALSE(preview->isVisible());
    hoverHead(1, 1);
    CHECK(preview->isVisible());
    hoverHead(2, 1);
    CHECK(preview->isVisible());
    QTest::keyClick(tools, Qt::Key_Escape);
    QTest::keyClick(tools, Qt::Key_Escape);
    CHECK(stops == 1);
}

TEST_CASE("grid view: the keyboard shows the framed head large as well", "[lab]") {
    QWidget window;
    auto* column = new QVBoxLayout(&window);
    auto *before = new QPushButton("before"), *after = new QPushButton("after");
    auto* grid = new ThumbnailGridView;
    for (QWidget* each : std::initializer_list<QWidget*>{before, grid, after}) column->addWidget(each);
    ThumbnailGridView& view = *grid;
    view.setGrid(samples::grid(3, 4, 6), 2);
    present(window, {700, 560});
    REQUIRE(QTest::qWaitForWindowActive(&window, 60'000));
    before->setFocus();
    REQUIRE(before->hasFocus());
    const auto isShown = [&] {
        const auto* preview = window.findChild<HeadPreview*>("headPreview");
        return preview && preview->isVisible();
    };
    CHECK_FALSE(isShown());
    QTest::keyClick(before, Qt::Key_Tab);
    CHECK(isShown());
    QTest::keyClick(&view, Qt::Key_Right);
    CHECK(window.findChild<HeadPreview*>("headPreview")->figure().title == "L0 H1");
    QTest::keyClick(&view, Qt::Key_Tab);
    CHECK_FALSE(isShown());
    view.setFocus(Qt::OtherFocusReason); // as when a workspace is entered
    CHECK_FALSE(isShown());
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
