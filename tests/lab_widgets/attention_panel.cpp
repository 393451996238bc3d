#include "app/lab/panels/attention_panel.h"

#include "app/lab/common/theme.h"
#include "app/lab/panels/cell_panel.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

namespace {

struct Bench {
    QUndoStack undo;
    QUndoGroup group;
    std::vector<Command> posts;
    Workbench workbench{group, [this](Command command) { posts.push_back(std::move(command)); }};

    Bench() {
        group.addStack(&undo);
        group.setActiveStack(&undo);
    }

    /// As the window does with a new snapshot.
    void show(Panel& panel, const std::shared_ptr<const Snapshot>& snapshot) {
        workbench.setSnapshot(snapshot);
        panel.setSnapshot(snapshot);
    }
    template <class T> T last() const {
        for (auto command = posts.rbegin(); command != posts.rend(); ++command)
            if (const T* found = std::get_if<T>(&*command)) return *found;
        FAIL("no such command was posted");
        return {};
    }
    template <class T> int count() const {
        return static_cast<int>(std::count_if(
            posts.begin(), posts.end(), [](const Command& command) { return std::holds_alternative<T>(command); }));
    }
};

/// An attention panel on a model of 3 layers, 4 heads that share 2 key/value heads, and 10 tokens.
struct AttentionFixture : Bench {
    std::unique_ptr<AttentionPanel> panel;
    std::shared_ptr<const Snapshot> shown = samples::snapshot(3, 4, 10, 2);

    AttentionFixture() {
        panel = std::make_unique<AttentionPanel>(workbench);
        present(*panel, {900, 700});
        show(*panel, shown);
    }
    template <class T> T* find(const char* name) const {
        T* found = panel->findChild<T*>(QString::fromLatin1(name));
        REQUIRE(found);
        return found;
    }
    HeatmapView* heatmap() const { return find<HeatmapView>("attentionHeatmap"); }
    ThumbnailGridView* grid() const { return find<ThumbnailGridView>("attentionGrid"); }
    TokenStrip* strip() const { return find<TokenStrip>("attentionTokens"); }
    void clickCell(const Cell& cell) {
        QTest::mouseClick(heatmap(), Qt::LeftButton, {}, heatmap()->figureLayout().cellRect(cell).center().toPoint());
    }
    void openHead(int layer, int head) {
        QTest::mouseClick(grid(), Qt::LeftButton, {},
                          grid()->figure().thumbnailRect(grid()->figureLayout(), layer, head).center().toPoint());
    }
};

} // namespace

TEST_CASE_METHOD(AttentionFixture, "attention panel: three scales are one click apart", "[lab]") {
    CHECK(last<PatternRequest>().thumbnailSize > 0);
    CHECK_FALSE(last<PatternRequest>().detail);
    openHead(2, 3);
    CHECK(panel->look().level == AttentionLevel::OneHead);
    CHECK(last<PatternRequest>().site == 2);
    CHECK(last<PatternRequest>().head == 3);
    CHECK(last<PatternRequest>().detail);
    CHECK(last<PatternRequest>().thumbnailSize == 0);
    CHECK(heatmap()->isVisible());
    QTest::mouseClick(find<QToolButton>("attentionCellLevel"), Qt::LeftButton);
    CHECK(panel->look().level == AttentionLevel::OneCell);
    CHECK(find<CellView>("attentionCell")->isVisible());
    // With no cell chosen it begins with what the newest token looks at most: three back, as head 3 does.
    CHECK(last<CellRequest>().query == 9);
    CHECK(last<CellRequest>().key == 6);
    QTest::mouseClick(find<QToolButton>("attentionAll"), Qt::LeftButton);
    CHECK(grid()->isVisible());
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: small thumbnails know each cell of a short text", "[lab]") {
    show(*panel, samples::snapshot(16, 16, 100));
    REQUIRE(grid()->thumbnailPixels() <= 64); // which is too few for the 100 tokens of a large preview
    CHECK(last<PatternRequest>().thumbnailSize >= 100);
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: shortcuts change the scale", "[lab]") {
    for (const auto& [key, level] :
         {std::pair{Qt::Key_2, AttentionLevel::OneHead}, std::pair{Qt::Key_3, AttentionLevel::OneCell},
          std::pair{Qt::Key_1, AttentionLevel::AllHeads}}) {
        REQUIRE(QTest::qWaitForWindowActive(panel.get(), 60'000));
        QTest::keyClick(panel.get(), key, Qt::ControlModifier);
        CHECK(panel->look().level == level);
    }
}

TEST_CASE_METHOD(AttentionFixture,
                 "attention panel: a clicked cell is explained, again when the head or the text changes", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    clickCell({7, 2});
    CHECK(last<CellRequest>().query == 7);
    CHECK(last<CellRequest>().key == 2);
    CHECK(count<CellRequest>() == 1);
    find<QSpinBox>("attentionLayer")->setValue(1);
    CHECK(last<CellRequest>().site == 1);
    auto next = std::make_shared<Snapshot>(*shown);
    next->version = next->sequenceVersion = 2;
    next->sequence = samples::sequence(11);
    show(*panel, next);
    CHECK(count<CellRequest>() == 3);
    auto shorter = std::make_shared<Snapshot>(*shown);
    shorter->version = shorter->sequenceVersion = 3;
    shorter->sequence = samples::sequence(3);
    show(*panel, shorter);
    CHECK_FALSE(workbench.selection().cell);
    CHECK(count<CellRequest>() == 4);
    CHECK(last<CellRequest>().site == -1); // runs need not explain it any more

    clickCell({2, 1});
    CHECK(count<CellRequest>() == 5);
    auto explained = std::make_shared<Snapshot>(*shorter);
    explained->version = explained->sequenceVersion = 4;
    auto cell = *samples::explanation(2, 1);
    cell.site = 1;
    explained->explanation = std::make_shared<const CellExplanation>(cell);
    show(*panel, explained);
    CHECK(count<CellRequest>() == 5); // the run brought it along
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: a late answer does not take back a newer choice", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    clickCell({7, 2});
    clickCell({8, 3});
    for (const Cell& cell : {Cell{7, 2}, Cell{8, 3}}) {
        auto next = std::make_shared<Snapshot>(*shown);
        next->explanation = samples::explanation(cell.query, cell.key);
        show(*panel, next);
        CHECK(workbench.selection().cell == Cell{8, 3});
    }
    CHECK(count<CellRequest>() == 2);
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: writing text does not explain a cell with every token", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    clickCell({7, 2});
    panel->setLevel(AttentionLevel::OneHead); // its arithmetic is out of sight
    for (int tokens = 11; tokens < 20; ++tokens) {
        auto next = std::make_shared<Snapshot>(*shown);
        next->sequenceVersion = static_cast<uint64_t>(tokens);
        next->status.activity = tokens < 19 ? Activity::Generating : Activity::Idle;
        next->sequence = samples::sequence(tokens);
        show(*panel, next);
    }
    CHECK(count<CellRequest>() == 2);
}

TEST_CASE_METHOD(AttentionFixture,
                 "attention panel: scale, colours, aggregate and hiding act at once, undo and reset take them back",
                 "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    auto* reset = find<QPushButton>("attentionReset");
    CHECK_FALSE(reset->isEnabled());
    QTest::mouseClick(find<QCheckBox>("attentionHideFirst"), Qt::LeftButton, {},
                      {8, find<QCheckBox>("attentionHideFirst")->height() / 2});
    CHECK(heatmap()->figure().scale.hidesFirst);
    find<QComboBox>("attentionScale")->setCurrentIndex(1);
    CHECK(heatmap()->figure().scale.kind == ScaleKind::Log);
    find<QComboBox>("attentionColours")->setCurrentIndex(2);
    CHECK(grid()->figure().colours == ColourMapId::Magma);
    find<QComboBox>("attentionAggregate")->setCurrentIndex(1);
    CHECK(last<PatternRequest>().aggregate == HeadAggregate::Mean);
    CHECK(undo.count() == 4);
    undo.undo();
    CHECK(last<PatternRequest>().aggregate == HeadAggregate::None);
    undo.undo();
    CHECK(grid()->figure().colours == ColourMapId::Viridis);
    CHECK(reset->isEnabled());
    QTest::mouseClick(reset, Qt::LeftButton);
    CHECK(panel->look().isPlain());
    CHECK_FALSE(find<QCheckBox>("attentionHideFirst")->isChecked());
    CHECK_FALSE(reset->isEnabled());
    undo.undo();
    CHECK(panel->look().scale == Scale{ScaleKind::Log, true});
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: reset also ends a zoom", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    heatmap()->zoomAt(heatmap()->figureLayout().plot.center(), 3);
    auto* reset = find<QPushButton>("attentionReset");
    REQUIRE(reset->isEnabled());
    QTest::mouseClick(reset, Qt::LeftButton);
    CHECK_FALSE(heatmap()->isZoomed());
    CHECK_FALSE(reset->isEnabled());
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: tokens, rows and columns are linked both ways", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    QSignalSpy hovered(&workbench, &Workbench::tokenHovered);
    emit heatmap()->hovered(6, 5);
    CHECK(strip()->markedQuery() == 6);
    CHECK(strip()->markedKey() == 5);
    REQUIRE(strip()->shades().size() == 10);
    CHECK(strip()->shades()[5] == samples::weightOf(6, 5, 1));
    CHECK(hovered.last()[0] == 6);
    emit heatmap()->hoverLeft();
    CHECK(strip()->markedQuery() == -1);
    CHECK(strip()->shades().empty());
    workbench.hoverToken(4);
    CHECK(heatmap()->figure().linkedToken == 4);
    workbench.hoverToken(-1);
    CHECK(heatmap()->figure().linkedToken == -1);
    QTest::mouseClick(strip()->viewport(), Qt::LeftButton, {}, strip()->tokenRect(8).center());
    workbench.hoverToken(-1);
    CHECK(heatmap()->figure().linkedToken == 8);
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: a head chosen elsewhere is shown here", "[lab]") {
    QSignalSpy selected(&workbench, &Workbench::headSelected);
    workbench.selectHead(1, 2);
    CHECK(grid()->figure().selected == HeadChoice{1, 2, HeadAggregate::None});
    CHECK(last<PatternRequest>().site == 1);
    CHECK(selected.count() == 1);
    find<QSpinBox>("attentionHeadNumber")->setValue(0);
    CHECK(selected.count() == 2);
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: asks for no picture while it is hidden", "[lab]") {
    panel->hide();
    CHECK(last<PatternRequest>().thumbnailSize == 0);
    CHECK_FALSE(last<PatternRequest>().detail);
    panel->show();
    CHECK(last<PatternRequest>().thumbnailSize > 0);
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: asks for a part only where the whole does not fit", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    heatmap()->zoomAt(heatmap()->figureLayout().plot.center(), 2);
    CHECK(last<PatternRequest>().queryEnd == 0);
    auto longer = samples::snapshot(3, 4, 0);
    longer->sequenceVersion = 2;
    longer->sequence = samples::sequence(4000);
    auto tile = std::make_shared<PatternTile>(samples::pooled(samples::tile(64), 64));
    tile->queryEnd = tile->keyEnd = 4000;
    longer->detail = tile;
    show(*panel, longer);
    heatmap()->resetZoom();
    heatmap()->zoomAt(heatmap()->figureLayout().plot.center(), 8);
    const PatternRequest view = last<PatternRequest>();
    CHECK(view.queryEnd - view.queryBegin < 1100);
    const QRectF window = heatmap()->visibleWindow();
    CHECK(view.queryBegin <= window.top());
    CHECK(view.queryEnd >= window.bottom());
    CHECK(view.keyBegin <= window.left());
    CHECK(view.keyEnd >= window.right());
    CHECK_FALSE(view.hidesFirst);
    find<QCheckBox>("attentionHideFirst")->setChecked(true);
    CHECK(last<PatternRequest>().hidesFirst);
    CHECK(last<PatternRequest>().keyEnd == view.keyEnd);
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: the view travels through a session file", "[lab]") {
    openHead(2, 1);
    clickCell({5, 4});
    find<QComboBox>("attentionScale")->setCurrentIndex(2);
    find<QComboBox>("attentionColours")->setCurrentIndex(1);
    const QJsonObject saved = panel->saveView();
    CHECK(saved["site"] == "blocks.2.attn");
    Bench other;
    AttentionPanel copy(other.workbench);
    other.show(copy, shown);
    copy.restoreView(saved);
    CHECK(copy.look() == panel->look());
    CHECK(other.workbench.selection() == workbench.selection());
    CHECK(other.last<PatternRequest>().site == 2);
    CHECK(other.last<CellRequest>().key == 4);
    QJsonObject older = saved; // of version 0.2
    older.remove("site");
    older["layer"] = 1;
    copy.restoreView(older);
    CHECK(other.workbench.selection().site == 1);
    copy.restoreView(
        QJsonObject{{"level", "nonsense"}, {"site", "blocks.99.attn"}, {"head", -4}, {"cell", QJsonArray{1, "x"}}});
    CHECK(other.workbench.selection() == Selection{.site = 2, .head = 0});
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: locked controls hold against the picture too", "[lab]") {
    find<QSpinBox>("attentionLayer")->parentWidget()->parentWidget()->setEnabled(false);
    openHead(2, 3);
    CHECK(workbench.selection() == Selection{});
    CHECK(grid()->figure().selected == HeadChoice{});
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: exports what is on screen", "[lab]") {
    CHECK(panel->figure() == grid());
    CHECK(panel->numbers().csv().startsWith("layer,head,query,key"));
    panel->setLevel(AttentionLevel::OneHead);
    CHECK(panel->figure() == heatmap());
    CHECK(panel->numbers().csv() == heatmap()->figure().csv());
    panel->setLevel(AttentionLevel::OneCell);
    CHECK(panel->figure() == heatmap());
    auto* cell = find<CellView>("attentionCell");
    QTest::mouseClick(cell, Qt::LeftButton, {}, {20, 20});
    CHECK(panel->figure() == cell);
    QTest::mouseClick(heatmap(), Qt::LeftButton);
    CHECK(panel->figure() == heatmap());
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: every control and view has an accessible name", "[lab]") {
    for (const QWidget* widget : panel->findChildren<QWidget*>()) {
        const bool isControl = widget->focusPolicy() != Qt::NoFocus && !widget->objectName().startsWith("qt_") &&
                               !qobject_cast<const QScrollArea*>(widget);
        INFO(widget->metaObject()->className() << " " << widget->objectName().toStdString());
        if (isControl && widget->isVisible()) CHECK_FALSE(widget->accessibleName().isEmpty());
    }
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: empty, tiny and large models stay usable", "[lab]") {
    show(*panel, std::make_shared<Snapshot>());
    for (AttentionLevel level : {AttentionLevel::AllHeads, AttentionLevel::OneHead, AttentionLevel::OneCell}) {
        panel->setLevel(level);
        CHECK_FALSE(panel->grab().isNull());
    }
    uint64_t version = 10;
    for (const auto& [layers, heads, tokens] :
         {std::tuple{1, 1, 0}, std::tuple{1, 1, 1}, std::tuple{12, 12, 64}, std::tuple{2, 2, 512}}) {
        const auto snapshot = samples::snapshot(layers, heads, tokens);
        snapshot->sequenceVersion = ++version;
        show(*panel, snapshot);
        for (AttentionLevel level : {AttentionLevel::AllHeads, AttentionLevel::OneHead, AttentionLevel::OneCell}) {
            panel->setLevel(level);
            for (const QSize& size : {QSize(260, 260), QSize(1000, 700)}) {
                panel->resize(size);
                CHECK_FALSE(panel->grab().isNull());
            }
        }
    }
}

TEST_CASE_METHOD(AttentionFixture, "attention panel: each theme reaches the views", "[lab]") {
    panel->setLevel(AttentionLevel::OneHead);
    for (ThemeId theme : {ThemeId::Dark, ThemeId::Projector, ThemeId::Light}) {
        applyTheme(theme, 100);
        workbench.setTheme(theme);
        CHECK(heatmap()->theme().isDark == (theme == ThemeId::Dark));
        const QImage image = heatmap()->grab().toImage();
        CHECK(colourAt(image, QPointF(image.width() - 2, image.height() - 2)) == heatmap()->theme().background.rgb());
    }
}

TEST_CASE("cell panel: asks by number, follows what is explained and draws it", "[lab]") {
    Bench bench;
    CellPanel panel(bench.workbench);
    present(panel, {420, 500});
    auto *query = panel.findChild<QSpinBox*>("cellQuery"), *key = panel.findChild<QSpinBox*>("cellKey");
    CHECK_FALSE(query->isEnabled());
    const auto snapshot = samples::snapshot(2, 2, 6);
    bench.show(panel, snapshot);
    CHECK(query->maximum() == 5);
    bench.workbench.selectHead(1, 0);
    query->setValue(4);
    CHECK(bench.last<CellRequest>().site == 1);
    CHECK(bench.last<CellRequest>().query == 4);
    const int asked = bench.count<CellRequest>();
    auto next = std::make_shared<Snapshot>(*snapshot);
    next->explanation = samples::explanation(4, 0);
    bench.show(panel, next);
    CHECK(bench.count<CellRequest>() == asked); // an answer is not a question
    bench.workbench.selectCell(Cell{3, 1});
    CHECK(query->value() == 3);
    CHECK(key->value() == 1);
    CHECK(bench.count<CellRequest>() == asked + 1);
    CHECK(panel.numbers().csv().startsWith("step,index,value"));
    CHECK_FALSE(panel.figure()->grab().isNull());
}

TEST_CASE("cell and attention panels: a cell chosen in one is the other's too", "[lab]") {
    Bench bench;
    AttentionPanel attention(bench.workbench);
    CellPanel cell(bench.workbench);
    const auto snapshot = samples::snapshot(1, 1, 6);
    bench.show(attention, snapshot);
    cell.setSnapshot(snapshot);
    cell.findChild<QSpinBox*>("cellQuery")->setValue(4);
    CHECK(attention.findChild<HeatmapView*>("attentionHeatmap")->figure().selected == Cell{4, 0});
    CHECK(bench.count<CellRequest>() == 1);
}
