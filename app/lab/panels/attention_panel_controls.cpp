// The controls of the attention panel: breadcrumbs, toolbar, and what its views report.
#include "app/lab/panels/attention_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/panels/picture_tools.h"
#include "app/lab/panels/picture_views.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QPainter>
#include <QPixmap>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>

namespace attn {
namespace {

QScrollArea* scrolling(QWidget* content) {
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(content);
    return area;
}

} // namespace

AttentionPanel::AttentionPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), allButton_(new QToolButton), headButton_(new QToolButton), cellButton_(new QToolButton),
      tools_(nullptr), pictureTools_(new PictureTools(bench)), change_(makeHintLabel("attentionChange")),
      layer_(new QSpinBox), head_(new QSpinBox), aggregate_(new QComboBox), scale_(new QComboBox),
      colours_(new QComboBox), hidesFirst_(new QCheckBox(tr("&Hide first token"))),
      reset_(new QPushButton(tr("Rese&t view"))), stack_(new QStackedWidget), gridScroll_(nullptr),
      cellScroll_(nullptr), pictures_(new PictureHeads("attentionPictures", PictureHeads::Kind::Overlays, bench)),
      picture_(new PictureView("attentionPicture", false, bench)), grid_(new ThumbnailGridView),
      heatmap_(new HeatmapView), cell_(new CellView), strip_(new TokenStrip) {
    grid_->setObjectName("attentionGrid");
    heatmap_->setObjectName("attentionHeatmap");
    cell_->setObjectName("attentionCell");
    strip_->setObjectName("attentionTokens");
    gridScroll_ = scrolling(grid_);
    cellScroll_ = scrolling(cell_);
    stack_->addWidget(gridScroll_);
    stack_->addWidget(heatmap_);
    stack_->addWidget(cellScroll_);
    stack_->addWidget(pictures_);
    stack_->addWidget(picture_);
    grid_->setEmptyText(tr("Open a model to see its attention: File > Open, or drop a model folder here."));
    heatmap_->setEmptyText(tr("Open a model to see its attention: File > Open, or drop a model folder here."));

    auto* column = makeColumn(this, 8, {makeBreadcrumbs(), makeTools(), pictureTools_, change_, {stack_, 1}, strip_});
    column->setSpacing(6);
    connectViews();
    connect(&bench_, &Workbench::shownRunChanged, this, [this] {
        if (!snapshot_) return;
        showPictures();
        showSettings();
    });
    followTheme(bench_, grid_, heatmap_, cell_, strip_);
    showSettings();
}

QWidget* AttentionPanel::makeBreadcrumbs() {
    auto* bar = new QWidget;
    auto* row = new FlowLayout(bar);
    allButton_->setText(tr("All heads"));
    makeLevelAction(AttentionLevel::AllHeads, allButton_, "attentionAll", QKeySequence("Ctrl+1"),
                    tr("Show every head of every layer"));
    makeLevelAction(AttentionLevel::OneHead, headButton_, "attentionHead", QKeySequence("Ctrl+2"),
                    tr("Show one head with its tokens"));
    makeLevelAction(AttentionLevel::OneCell, cellButton_, "attentionCellLevel", QKeySequence("Ctrl+3"),
                    tr("Show the arithmetic of one query and one key"));
    for (QToolButton* button : {allButton_, headButton_, cellButton_}) {
        if (button != allButton_) row->addWidget(new QLabel(QStringLiteral("›")));
        row->addWidget(button);
    }
    return bar;
}

void AttentionPanel::makeLevelAction(AttentionLevel level, QToolButton* button, const char* id,
                                     const QKeySequence& keys, const QString& toolTip) {
    const QString hint = QStringLiteral("%1 (%2)").arg(toolTip, keys.toString(QKeySequence::NativeText));
    named(button, id, toolTip, hint);
    button->setCheckable(true);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::StrongFocus);
    auto* action = helped(new QAction(toolTip, this), id, toolTip);
    action->setShortcut(keys);
    addAction(action);
    connect(action, &QAction::triggered, this, [this, level] { setLevel(level); });
    connect(button, &QToolButton::clicked, action, &QAction::trigger);
}

QWidget* AttentionPanel::makeTools() {
    tools_ = new QWidget;
    assignControlGroup(tools_, "attention");
    auto* row = new FlowLayout(tools_);
    row->addLabelled(tr("La&yer"), named(layer_, "attentionLayer", tr("Layer to show, from 0")));
    row->addLabelled(tr("Hea&d"), named(head_, "attentionHeadNumber", tr("Head to show, from 0")));
    row->addWidget(named(aggregate_, "attentionAggregate",
                         tr("Show one head, or the mean or maximum over the heads of the layer")));
    row->addLabelled(tr("&Scale"), named(scale_, "attentionScale", tr("How attention weights become colours")));
    row->addWidget(named(colours_, "attentionColours", tr("Colour map")));
    row->addWidget(
        named(hidesFirst_, "attentionHideFirst",
              tr("Leave out the first token, to which many heads attend by default, and renormalise each row")));
    row->addWidget(named(reset_, "attentionReset", tr("Restore one head, the linear scale and all tokens")));
    aggregate_->addItems({tr("One head"), tr("Mean"), tr("Maximum")});
    for (const ScaleInfo& scale : scaleKinds()) {
        scale_->addItem(QCoreApplication::translate("attn::Scale", scale.title));
        scale_->setItemData(scale_->count() - 1, QCoreApplication::translate("attn::Scale", scale.toolTip),
                            Qt::ToolTipRole);
    }
    for (const ColourMapInfo& map : colourMaps()) {
        QPixmap swatch(48, 12);
        QPainter painter(&swatch);
        for (int x = 0; x < swatch.width(); ++x)
            painter.fillRect(
                x, 0, 1, swatch.height(),
                QColor(ColourMap::of(map.id).at(static_cast<float>(x) / static_cast<float>(swatch.width() - 1))));
        painter.end();
        colours_->addItem(QIcon(swatch), QCoreApplication::translate("attn::ColourMap", map.title));
        colours_->setItemData(colours_->count() - 1, QString::fromUtf8(map.source), Qt::ToolTipRole);
    }
    colours_->setIconSize({48, 12});

    connect(layer_, &QSpinBox::valueChanged, this, [this](int layer) {
        choose({layer, bench_.selection().head, choice().aggregate});
    });
    connect(head_, &QSpinBox::valueChanged, this, [this](int head) {
        choose({bench_.selection().site, head, choice().aggregate});
    });
    connect(aggregate_, &QComboBox::currentIndexChanged, this,
            [this](int index) { chooseAggregate(static_cast<HeadAggregate>(index)); });
    connect(scale_, &QComboBox::currentIndexChanged, this, [this](int index) {
        AttentionLook next = look_;
        next.scale.kind = scaleKinds()[static_cast<size_t>(index)].kind;
        change(next, tr("changing the scale"));
    });
    connect(colours_, &QComboBox::currentIndexChanged, this,
            [this](int index) { chooseColours(colourMaps()[static_cast<size_t>(index)].id); });
    connect(hidesFirst_, &QCheckBox::toggled, this, [this](bool isHidden) {
        AttentionLook next = look_;
        next.scale.hidesFirst = isHidden;
        change(next, tr("hiding the first token"));
    });
    connect(reset_, &QPushButton::clicked, this, [this] {
        AttentionLook next = look_;
        next.scale = {};
        next.aggregate = HeadAggregate::None;
        change(next, tr("resetting the view"));
        heatmap_->resetZoom();
    });
    return tools_;
}

void AttentionPanel::connectViews() {
    connect(grid_, &ThumbnailGridView::selected, this, [this](const HeadChoice& choice) { choose(choice); });
    connect(grid_, &ThumbnailGridView::activated, this, [this] { setLevel(AttentionLevel::OneHead); });
    connect(heatmap_, &HeatmapView::cellSelected, this, [this](int query, int key) {
        bench_.selectCell(Cell{query, key});
    });
    connect(heatmap_, &HeatmapView::cellActivated, this, [this] { setLevel(AttentionLevel::OneCell); });
    connect(heatmap_, &HeatmapView::windowChanged, this, [this](const QRectF& window) {
        window_ = window;
        reset_->setEnabled(!look_.isPlain() || heatmap_->isZoomed());
        want();
    });
    connect(heatmap_, &HeatmapView::hovered, this, [this](int query, int key) {
        hoveredCell_ = Cell{query, key};
        showLinks();
        bench_.hoverToken(query);
    });
    connect(heatmap_, &HeatmapView::hoverLeft, this, [this] {
        hoveredCell_.reset();
        showLinks();
        bench_.hoverToken(-1);
    });
    connect(strip_, &TokenStrip::tokenHovered, this, [this](int token) { bench_.hoverToken(token); });
    connect(strip_, &TokenStrip::tokenClicked, this, [this](int token) {
        bench_.selectRow(bench_.selection().row == token ? std::nullopt : std::optional(token));
    });
    connect(&bench_, &Workbench::tokenHovered, this, [this](int token) {
        hoveredToken_ = token < bench_.tokenCount() ? token : -1;
        showLinks();
    });
    connect(&bench_, &Workbench::headSelected, this, [this] {
        look_.aggregate = HeadAggregate::None;
        want();
    });
    connect(&bench_, &Workbench::selectionChanged, this, &AttentionPanel::showSettings);
    connect(pictures_, &PointedView::activated, this, [this] { setLevel(AttentionLevel::OneHead); });
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, [this] {
        if (bench_.readsPictures()) showSettings();
    });
}

} // namespace attn
