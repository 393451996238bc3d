// The controls of texts in the Attention panel, and what its views report.
#include "app/figures/token_label.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/panels/text_attention.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/heading.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/sliding_column.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
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

/// A control behind its label.
QWidget* labelled(QWidget* control, const QString& text) {
    auto* row = new QWidget;
    makeRow(row, 0, {labelFor(control, text), room(), control});
    return row;
}

} // namespace

TextAttention::TextAttention(Workbench& bench)
    : AttentionPage(AxisKind::Tokens, bench), change_(makeHintLabel("attentionChange")), scale_(new QComboBox),
      hidesFirst_(new QCheckBox(tr("&Hide first token"))), wholeWords_(new QCheckBox(tr("&Whole words"))),
      reset_(new QPushButton(tr("Rese&t view"))), stack_(new QStackedWidget), views_(new QStackedWidget),
      hero_(new QWidget), switch_(new QButtonGroup(this)), arcsOfLayer_(new QCheckBox(tr("All heads of the layer"))),
      grid_(new ThumbnailGridView), heatmap_(new HeatmapView), arcs_(new ArcsView), cell_(new CellView),
      written_(new PatchOverlayView), queries_(new TokenStrip), strip_(new TokenStrip), words_(makeWords()) {
    grid_->setObjectName("attentionGrid");
    heatmap_->setObjectName("attentionHeatmap");
    cell_->setObjectName("attentionCell");
    strip_->setObjectName("attentionTokens");
    gridScroll_ = scrolling(grid_);
    arcs_->setObjectName("attentionArcs");
    grid_->setWhatsThis(
        tr("A thumbnail for each head: one row for each layer, one column for each head. The strip below a "
           "thumbnail is the row from which the model predicts: that of the last token, or of [MASK] or [CLS]. Click a "
           "thumbnail to enlarge it."));
    heatmap_->setWhatsThis(
        tr("Each row is a query: a token that looks. Each column is a key: a token that it looks at. The "
           "colour is the attention weight; each row sums to 1. The mask hides the grey cells. Click a "
           "cell to see its arithmetic. The wheel zooms."));
    strip_->setWhatsThis(
        tr("Each word is shaded by the attention that one query pays to it: the word under the pointer, or "
           "the one from which the model predicts. Click a word to keep it as the query."));
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
    grid_->setEmptyText(tr("Open a model to see its attention: File > Open, or drop a model folder here."));
    heatmap_->setEmptyText(tr("Open a model to see its attention: File > Open, or drop a model folder here."));

    makeSwitch();
    makeSettings();
    makeColumn(this, 0, {change_, {stack_, 1}})->setSpacing(spacing::kTight);
    connectViews();
    connect(&bench_, &Workbench::shownRunChanged, this, [this] {
        if (!snapshot_) return;
        showPictures();
        emit changed();
    });
    followTheme(bench_, grid_, heatmap_, cell_, queries_, strip_, arcs_, written_);
}

AttentionPage::Tools TextAttention::tools() {
    Tools tools{.beforeHead = {},
                .afterHead = {arcsOfLayer_},
                .beforeColours = {scaleRow_},
                .afterColours = {hidesFirst_, wholeWords_, reset_}};
    for (QAbstractButton* button : switch_->buttons()) tools.beforeHead << button;
    return tools;
}

QWidget* TextAttention::makeWords() {
    auto* words = new QWidget;
    wordsTitle_ = identified(new Heading(TextSize::Title), "attentionWordsTitle");
    wordsTitle_->setWordWrap(true);
    wordsMeaning_ = makeHintLabel("attentionWordsMeaning");
    strip_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    strip_->letGrow();
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

bool TextAttention::readsText() const {
    return snapshot_ && snapshot_->sequence &&
           snapshot_->queries(bench_.selection().site).data() == snapshot_->sequence->tokens.data();
}

bool TextAttention::isOfTwoTexts() const {
    // While another model arrives, the selection may already be of that one.
    const int site = bench_.selection().site;
    return snapshot_ && snapshot_->model && site < snapshot_->model->siteCount() &&
           snapshot_->model->structure.isCross(site);
}

void TextAttention::hoverRow(int row) {
    bench_.hoverToken(readsText() ? tokenAt(row, queryWords()) : -1);
    hoveredToken_ = row;
    showLinks();
}

void TextAttention::makeSwitch() {
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
    }
    connect(switch_, &QButtonGroup::idClicked, this, [this](int id) { setPicture(static_cast<AttentionPicture>(id)); });
    helped(arcsOfLayer_, "attentionArcsOfLayer", tr("Draw the arcs of every head, each in its own colour"));
    arcsOfLayer_->setAccessibleName(arcsOfLayer_->text());
    connect(arcsOfLayer_, &QCheckBox::toggled, this,
            [this](bool isOn) { set(&AttentionLook::arcsOfLayer, isOn, tr("choosing a view")); });
}

void TextAttention::makeSettings() {
    named(scale_, "attentionScale", tr("How attention weights become colours"));
    scaleRow_ = labelled(scale_, tr("&Scale"));
    named(hidesFirst_, "attentionHideFirst",
          tr("Leave out the first token, to which many heads attend by default, and renormalise each row"));
    named(wholeWords_, "attentionWholeWords",
          tr("Show words in place of their pieces: the attention that pieces of a word receive is added, and the rows "
             "of its pieces are averaged"));
    named(reset_, "attentionReset", tr("Show one head, the pieces of words, all tokens and the linear scale again"));
    for (const ScaleInfo& scale : scaleKinds()) {
        scale_->addItem(QCoreApplication::translate("attn::Scale", scale.title));
        scale_->setItemData(scale_->count() - 1, QCoreApplication::translate("attn::Scale", scale.toolTip),
                            Qt::ToolTipRole);
    }
    connect(scale_, &QComboBox::currentIndexChanged, this, [this](int index) {
        set(&AttentionLook::scale, {scaleKinds()[static_cast<size_t>(index)].kind, look_.scale.hidesFirst},
            tr("changing the scale"));
    });
    connect(hidesFirst_, &QCheckBox::toggled, this, [this](bool isHidden) {
        set(&AttentionLook::scale, {look_.scale.kind, isHidden}, tr("hiding the first token"));
    });
    connect(wholeWords_, &QCheckBox::toggled, this,
            [this](bool isWhole) { set(&AttentionLook::wholeWords, isWhole, tr("showing whole words")); });
    connect(reset_, &QPushButton::clicked, this, [this] {
        AttentionLook next = look_;
        next.scale = {};
        next.aggregate = HeadAggregate::None;
        next.wholeWords = false;
        change(next, tr("resetting the view"));
        heatmap_->resetZoom();
    });
}

void TextAttention::connectViews() {
    grid_->setWords([this](const HeadChoice& choice) -> ThumbnailGridView::HeadWords {
        return {.queries = tokenLabels(snapshot_->queries(choice.site)),
                .keys = tokenLabels(snapshot_->keys(choice.site)),
                .condition =
                    choice.aggregate == HeadAggregate::None ? bench_.conditionOf(choice.site, choice.head) : QString()};
    });
    connect(grid_, &ThumbnailGridView::selected, this, [this](const HeadChoice& choice) { emit chosen(choice); });
    connect(grid_, &ThumbnailGridView::activated, this, [this] { emit levelChosen(AttentionLevel::OneHead); });
    const auto pressed = [this](int query, int key) {
        bench_.selectCell(Cell{tokenAt(query, queryWords()), tokenAt(key, keyWords())});
        emit levelChosen(AttentionLevel::OneCell);
    };
    connect(heatmap_, &HeatmapView::cellSelected, this, pressed);
    connect(heatmap_, &HeatmapView::cellActivated, this, pressed);
    connect(cellColumn_, &SlidingColumn::closeAsked, this, [this] { emit levelChosen(AttentionLevel::OneHead); });
    const auto selectRow = [this](int place) {
        const int row = tokenAt(place, queryWords());
        bench_.selectRow(bench_.selection().row == row ? std::nullopt : std::optional(row));
    };
    connect(arcs_, &ArcsView::tokenHovered, this, &TextAttention::hoverRow);
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
}

} // namespace attn
