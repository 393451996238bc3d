// The controls of the attention panel: breadcrumbs, toolbar, and what its views report.
#include "app/lab/panels/attention_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/controls/picture_tools.h"
#include "app/lab/controls/picture_views.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/heading.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/site_box.h"
#include "app/lab/widgets/sliding_column.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"

#include <QAction>
#include <QApplication>
#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QPixmap>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>
#include <QWidgetAction>

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
      layer_(new SiteBox), head_(new WholeBox), aggregate_(new QComboBox), scale_(new QComboBox),
      colours_(new QComboBox), hidesFirst_(new QCheckBox(tr("&Hide first token"))),
      wholeWords_(new QCheckBox(tr("&Whole words"))), reset_(new QPushButton(tr("Rese&t view"))),
      stack_(new QStackedWidget), views_(new QStackedWidget), hero_(new QWidget), gridScroll_(nullptr),
      arcsScroll_(nullptr), cellColumn_(nullptr), switch_(new QButtonGroup(this)),
      arcsOfLayer_(new QCheckBox(tr("All heads of the layer"))),
      pictures_(new PictureHeads("attentionPictures", PictureHeads::Kind::Overlays, bench)),
      picture_(new PictureView("attentionPicture", false, bench)), grid_(new ThumbnailGridView),
      heatmap_(new HeatmapView), arcs_(new ArcsView), cell_(new CellView), written_(new PatchOverlayView),
      queries_(new TokenStrip), strip_(new TokenStrip), words_(makeWords()) {
    grid_->setObjectName("attentionGrid");
    heatmap_->setObjectName("attentionHeatmap");
    cell_->setObjectName("attentionCell");
    strip_->setObjectName("attentionTokens");
    gridScroll_ = scrolling(grid_);
    arcs_->setObjectName("attentionArcs");
    grid_->setWhatsThis(
        tr("A thumbnail for each head: one row for each layer, one column for each head. The strip below a "
           "thumbnail is the row of the last token. Click a thumbnail to enlarge it."));
    heatmap_->setWhatsThis(
        tr("Each row is a query: a token that looks. Each column is a key: a token that it looks at. The "
           "colour is the attention weight; each row sums to 1. The mask hides the grey cells. Click a "
           "cell to see its arithmetic. The wheel zooms."));
    strip_->setWhatsThis(
        tr("Each word is shaded by the attention that one query pays to it: the word under the pointer, or "
           "the last token. Click a word to keep it as the query."));
    arcs_->setWhatsThis(
        tr("Each line joins a query at the left to a key at the right. The larger the attention weight, the "
           "stronger the line. Point at a word to see its lines alone."));
    cell_->setWhatsThis(
        tr("The arithmetic behind one cell of the heatmap, from the query and the key to the weight and what "
           "it adds."));
    arcsScroll_ = scrolling(arcs_);
    QScrollArea* cellScroll = scrolling(cell_);
    cellScroll->setFocusPolicy(Qt::StrongFocus); // to scroll by keys, and to say that an export means the arithmetic
    cellColumn_ = new SlidingColumn(cellScroll);
    for (QWidget* view : std::initializer_list<QWidget*>{heatmap_, words_, arcsScroll_, written_})
        views_->addWidget(view);
    makeRow(hero_, 0, {{views_, 1}, cellColumn_});
    empty_ = new EmptyState("attentionEmpty", tr("The attention of every head appears here once there is a text."));
    empty_->offerAction("focusPrompt", tr("Write a prompt"));
    stack_->addWidget(empty_);
    patternless_ = new EmptyState("attentionPatternless", {});
    patternless_->offer(tr("Open Lenses"), {}, [this] { bench_.showPanel("lenses"); });
    stack_->addWidget(patternless_);
    stack_->addWidget(gridScroll_);
    stack_->addWidget(hero_);
    stack_->addWidget(pictures_);
    stack_->addWidget(picture_);
    grid_->setEmptyText(tr("Open a model to see its attention: File > Open, or drop a model folder here."));
    heatmap_->setEmptyText(tr("Open a model to see its attention: File > Open, or drop a model folder here."));

    auto* bar = new FlowLayout;
    bar->addWidget(makeBreadcrumbs());
    bar->addWidget(makeTools());
    auto* column = makeColumn(this, spacing::kTight, {bar, pictureTools_, change_, {stack_, 1}});
    column->setSpacing(spacing::kTight);
    connectViews();
    connect(&bench_, &Workbench::shownRunChanged, this, [this] {
        if (!snapshot_) return;
        showPictures();
        showSettings();
    });
    followTheme(bench_, grid_, heatmap_, cell_, queries_, strip_, arcs_, written_);
    showSettings();
}

QWidget* AttentionPanel::makeWords() {
    auto* words = new QWidget;
    wordsTitle_ = identified(new Heading(TextSize::Title), "attentionWordsTitle");
    wordsTitle_->setWordWrap(true);
    wordsMeaning_ = makeHintLabel("attentionWordsMeaning");
    strip_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    auto* scale = spoken(new TokenStrip, "attentionWordsScale", tr("Colours of attention weights from 0 to 1"));
    scale->setFocusPolicy(Qt::NoFocus);
    scale->setAttribute(Qt::WA_TransparentForMouseEvents);
    scale->setLabels({"0", "0.1", "0.25", "0.5", "1"});
    scale->setShades({0, 0.1f, 0.25f, 0.5f, 1});
    followTheme(bench_, scale);
    queries_->setObjectName("attentionQueries");
    queries_->setWhatsThis(
        tr("The words that look. Click one to keep it as the query: the words below are shaded by its attention."));
    queries_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
    makeColumn(words, spacing::kGap, {wordsTitle_, queries_, wordsMeaning_, scale, {strip_, 1}});
    return words;
}

bool AttentionPanel::readsText() const {
    return snapshot_ && snapshot_->sequence &&
           snapshot_->queries(bench_.selection().site).data() == snapshot_->sequence->tokens.data();
}

bool AttentionPanel::isOfTwoTexts() const {
    // While another model arrives, the selection may already be of that one.
    const int site = bench_.selection().site;
    return snapshot_ && snapshot_->model && site < snapshot_->model->siteCount() &&
           snapshot_->model->structure.isCross(site);
}

void AttentionPanel::hoverRow(int row) {
    bench_.hoverToken(readsText() ? tokenAt(row, queryWords()) : -1);
    hoveredToken_ = row;
    showLinks();
}

QWidget* AttentionPanel::makeBreadcrumbs() {
    auto* bar = new QWidget;
    auto* row = layoutOf<QHBoxLayout>(bar);
    row->setSpacing(spacing::kTight);
    allButton_->setText(tr("All heads"));
    makeLevelAction(AttentionLevel::AllHeads, allButton_, "attentionAll", QKeySequence("Ctrl+1"),
                    tr("Show every head of every layer"));
    makeLevelAction(AttentionLevel::OneHead, headButton_, "attentionHead", QKeySequence("Ctrl+2"),
                    tr("Show one head with its tokens"));
    makeLevelAction(AttentionLevel::OneCell, cellButton_, "attentionCellLevel", QKeySequence("Ctrl+3"),
                    tr("Show the arithmetic of one query and one key"));
    for (QToolButton* button : {allButton_, headButton_, cellButton_}) {
        if (button != allButton_) row->addWidget(plainLabel(QStringLiteral("›")));
        row->addWidget(button);
    }
    return bar;
}

void AttentionPanel::makeLevelAction(AttentionLevel level, QToolButton* button, const char* id,
                                     const QKeySequence& keys, const QString& toolTip) {
    const QString hint = QStringLiteral("%1 (%2)").arg(toolTip, keys.toString(QKeySequence::NativeText));
    named(button, id, toolTip, hint);
    button->setCheckable(true);
    button->setProperty("segment", true);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::StrongFocus);
    auto* action = helped(new QAction(toolTip, this), id, toolTip);
    action->setShortcut(keys);
    addAction(action);
    connect(action, &QAction::triggered, this, [this, level] {
        bench_.showPanel("attention"); // first: a workspace brings its own level
        chooseLevel(level);
        focusableIn(*(this->level() == AttentionLevel::OneCell ? pictureOfHead() : figure()))->setFocus();
    });
    connect(button, &QToolButton::clicked, this, [this, level] { chooseLevel(level); });
}

QWidget* AttentionPanel::makeTools() {
    tools_ = new QWidget;
    assignControlGroup(tools_, "attention");
    auto* row = new FlowLayout(tools_);
    const std::tuple<const char*, QString, QString> pictures[] = {
        {"attentionAsHeatmap", tr("Heatmap"), tr("Show the weights of one head as a heatmap")},
        {"attentionAsText", tr("Words"), tr("Shade each word by the attention that a query pays to it")},
        {"attentionAsArcs", tr("Arcs"), tr("Join each word to the words that it attends to")},
        {"attentionAsPixels", tr("Picture"),
         tr("Show the picture that the model writes, with the attention of the next pixel over it")}};
    for (const auto& [id, text, help] : pictures) {
        auto* button = named(new QToolButton, id, text, help);
        button->setText(text);
        button->setCheckable(true);
        button->setProperty("segment", true);
        button->setFocusPolicy(Qt::StrongFocus);
        switch_->addButton(button, static_cast<int>(switch_->buttons().size()));
        row->addWidget(button);
    }
    connect(switch_, &QButtonGroup::idClicked, this, [this](int id) { setPicture(static_cast<AttentionPicture>(id)); });
    const auto addLabelled = [row](const QString& text, QWidget* control) {
        auto* pair = new QWidget;
        makeRow(pair, 0, {labelFor(control, text), control});
        row->addWidget(pair);
    };
    addLabelled(tr("La&yer"), named(layer_, "attentionLayer", tr("Layer to show, from 0")));
    addLabelled(tr("Hea&d"), named(head_, "attentionHeadNumber", tr("Head to show, from 0")));
    row->addWidget(
        helped(arcsOfLayer_, "attentionArcsOfLayer", tr("Draw the arcs of every head, each in its own colour")));
    row->addWidget(makeDisplayButton());
    arcsOfLayer_->setAccessibleName(arcsOfLayer_->text());
    connect(arcsOfLayer_, &QCheckBox::toggled, this, [this](bool isOn) {
        AttentionLook next = look_;
        next.arcsOfLayer = isOn;
        change(next, tr("choosing a view"));
    });
    connect(layer_, &QSpinBox::valueChanged, this, [this](int layer) {
        choose({layer, bench_.selection().head, choice().aggregate});
    });
    connect(head_, &QSpinBox::valueChanged, this, [this](int head) {
        choose({bench_.selection().site, head, choice().aggregate});
    });
    return tools_;
}

QToolButton* AttentionPanel::makeDisplayButton() {
    auto* content = new QWidget;
    assignControlGroup(content, "attention");
    auto* column = layoutOf<QVBoxLayout>(content, spacing::kWide);
    const auto add = [&](const QString& text, QWidget* control) {
        auto* row = new QWidget;
        makeRow(row, 0, {labelFor(control, text), room(), control});
        column->addWidget(row);
    };
    add(tr("Show"), named(aggregate_, "attentionAggregate",
                          tr("Show one head, or the mean or maximum over the heads of the layer")));
    add(tr("&Scale"), named(scale_, "attentionScale", tr("How attention weights become colours")));
    add(tr("&Colours"), named(colours_, "attentionColours", tr("Colour map")));
    column->addWidget(
        named(hidesFirst_, "attentionHideFirst",
              tr("Leave out the first token, to which many heads attend by default, and renormalise each row")));
    column->addWidget(named(wholeWords_, "attentionWholeWords",
                            tr("Show words in place of their pieces: the attention that pieces of a word receive is "
                               "added, and the rows of its pieces are averaged")));
    column->addWidget(named(reset_, "attentionReset",
                            tr("Show one head, the pieces of words, all tokens and the linear scale again")));
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
    connect(wholeWords_, &QCheckBox::toggled, this, [this](bool isWhole) {
        AttentionLook next = look_;
        next.wholeWords = isWhole;
        change(next, tr("showing whole words"));
    });
    connect(reset_, &QPushButton::clicked, this, [this] {
        AttentionLook next = look_;
        next.scale = {};
        next.aggregate = HeadAggregate::None;
        next.wholeWords = false;
        change(next, tr("resetting the view"));
        heatmap_->resetZoom();
    });
    auto* button = named(new QToolButton, "attentionDisplay", tr("Display"), tr("Choose how attention is drawn"));
    button->setText(tr("Display"));
    button->setPopupMode(QToolButton::InstantPopup);
    button->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(button);
    auto* action = new QWidgetAction(menu);
    action->setDefaultWidget(content);
    menu->addAction(action);
    button->setMenu(menu);
    return button;
}

void AttentionPanel::connectViews() {
    connect(grid_, &ThumbnailGridView::selected, this, [this](const HeadChoice& choice) { choose(choice); });
    connect(grid_, &ThumbnailGridView::activated, this, [this] { chooseLevel(AttentionLevel::OneHead); });
    const auto pressed = [this](int query, int key) {
        bench_.selectCell(Cell{tokenAt(query, queryWords()), tokenAt(key, keyWords())});
        chooseLevel(AttentionLevel::OneCell);
    };
    connect(heatmap_, &HeatmapView::cellSelected, this, pressed);
    connect(heatmap_, &HeatmapView::cellActivated, this, pressed);
    connect(cellColumn_, &SlidingColumn::closeAsked, this, [this] { chooseLevel(AttentionLevel::OneHead); });
    const auto selectRow = [this](int place) {
        const int row = tokenAt(place, queryWords());
        bench_.selectRow(bench_.selection().row == row ? std::nullopt : std::optional(row));
    };
    connect(arcs_, &ArcsView::tokenHovered, this, &AttentionPanel::hoverRow);
    connect(arcs_, &ArcsView::tokenClicked, this, selectRow);
    for (TokenStrip* each : {queries_, strip_}) {
        const auto holdsQueries = [this, each] { return each == (isOfTwoTexts() ? queries_ : strip_); };
        connect(each, &TokenStrip::tokenHovered, this, [this, holdsQueries](int row) {
            if (holdsQueries()) hoverRow(row);
        });
        connect(each, &TokenStrip::tokenClicked, this, [selectRow, holdsQueries](int row) {
            if (holdsQueries()) selectRow(row);
        });
    }
    connectWritten();
    connect(heatmap_, &HeatmapView::windowChanged, this, [this](const QRectF& window) {
        window_ = window;
        reset_->setEnabled(!look_.isPlain() || heatmap_->isZoomed());
        want();
    });
    connect(heatmap_, &HeatmapView::hovered, this, [this](int query, int key) {
        hoveredCell_ = Cell{query, key};
        hoverRow(query);
    });
    connect(heatmap_, &HeatmapView::hoverLeft, this, [this] {
        hoveredCell_.reset();
        hoverRow(-1);
    });
    connect(&bench_, &Workbench::tokenHovered, this, [this](int token) {
        hoveredToken_ = readsText() && token < bench_.queryCount() ? placeOf(token, queryWords()) : -1;
        showLinks();
    });
    connect(&bench_, &Workbench::headSelected, this, [this] {
        look_.aggregate = HeadAggregate::None;
        want();
    });
    connect(&bench_, &Workbench::selectionChanged, this, &AttentionPanel::showSettings);
    connect(pictures_, &PointedView::activated, this, [this] { chooseLevel(AttentionLevel::OneHead); });
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, [this] {
        if (bench_.readsPictures()) showSettings();
    });
}

void AttentionPanel::listenToEscape(bool isOn) {
    if (isOn)
        qApp->installEventFilter(this);
    else
        qApp->removeEventFilter(this);
}

bool AttentionPanel::eventFilter(QObject* watched, QEvent* event) {
    const bool isKey = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
    const auto* pressed = isKey ? qobject_cast<QWidget*>(watched) : nullptr;
    if (!pressed || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape || pressed->window() != window() ||
        !isVisible() || level() != AttentionLevel::OneCell || !headButton_->isEnabled())
        return Panel::eventFilter(watched, event);
    event->accept();
    if (event->type() == QEvent::KeyPress) chooseLevel(AttentionLevel::OneHead);
    return true;
}

} // namespace attn
