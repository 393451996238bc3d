#include "app/lab/panels/playground_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/playground_bridge.h"
#include "app/lab/widgets/attention_gallery.h"
#include "app/lab/widgets/comparison_view.h"
#include "app/lab/widgets/cost_view.h"
#include "app/lab/widgets/elided_label.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/input_controls.h"
#include "app/lab/widgets/linear_layer_view.h"
#include "app/lab/widgets/map_grid.h"
#include "app/lab/widgets/mask_painter.h"
#include "app/lab/widgets/part_cards.h"
#include "app/lab/widgets/patch_view.h"
#include "app/lab/widgets/paths_view.h"
#include "app/lab/widgets/position_view.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/spec_editor.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/undo_commands.h"
#include "engine/core/error.h"
#include "engine/training/attention_recipe.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QEvent>
#include <QJsonArray>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTabWidget>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

/// Scrolls its content vertically and is always wide enough for it, at any font size.
class ControlScroll : public QScrollArea {
public:
    explicit ControlScroll(QWidget* content) {
        setFrameShape(QFrame::NoFrame);
        setFocusPolicy(Qt::NoFocus);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setWidgetResizable(true);
        setWidget(content);
        content->installEventFilter(this);
    }
    QSize minimumSizeHint() const override {
        return {widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width(),
                fontMetrics().height() * 5};
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (watched == widget() && event->type() == QEvent::LayoutRequest) updateGeometry();
        return QScrollArea::eventFilter(watched, event);
    }
};

PlaygroundQuery firstQuery() {
    return {.spec = AttentionSpec::parse("heads=multi_head(4), position=alibi, mask=causal"), .tokens = 32};
}

} // namespace

PlaygroundPanel::PlaygroundPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), shown_(std::make_shared<PlaygroundSnapshot>()) {
    auto* split = new QSplitter(Qt::Horizontal);
    split->setChildrenCollapsible(false);
    split->addWidget(makeControls());
    views_ = spoken(new QTabWidget, "playViews", tr("Views of the playground"));
    mapsPage_ = makeMaps();
    views_->addTab(mapsPage_, tr("Heatmaps"));
    gallery_ = new AttentionGallery;
    views_->addTab(gallery_, tr("Known models"));
    connect(gallery_, &AttentionGallery::chosen, this, &PlaygroundPanel::begin);
    painter_ = new MaskPainter;
    views_->addTab(painter_, tr("Paint a mask"));
    cards_ = new PartCards;
    views_->addTab(cards_, tr("Reference cards"));
    positions_ = new PositionView;
    views_->addTab(positions_, tr("Positions"));
    connect(positions_, &PositionView::queryChanged, this, &PlaygroundPanel::ask);
    split->addWidget(views_);
    connect(views_, &QTabWidget::currentChanged, this, &PlaygroundPanel::ask);
    costs_ = new CostView;
    views_->addTab(costs_, tr("Cost"));
    paths_ = new PathsView;
    views_->addTab(paths_, tr("Tiles"));
    connect(paths_, &PathsView::queryChanged, this, &PlaygroundPanel::ask);
    linear_ = new LinearLayerView;
    views_->addTab(linear_, tr("Linear layer"));
    connect(linear_, &LinearLayerView::queryChanged, this, &PlaygroundPanel::ask);
    const auto askCosts = [this] { bench_.playground().costs().ask(costs_->query()); };
    connect(costs_, &CostView::queryChanged, this, askCosts);
    connect(costs_, &CostView::cancelled, this, [this] { bench_.playground().costs().cancel(); });
    connect(&bench_.playground(), &PlaygroundBridge::costsChanged, costs_, &CostView::showCosts);
    connect(cards_, &PartCards::queryChanged, this, &PlaygroundPanel::ask);
    connect(cards_, &PartCards::tried, this, [this](const Part* part) {
        edit(with(specWith(*part, edited())), "card");
        views_->setCurrentWidget(mapsPage_);
    });
    connect(cards_, &PartCards::trainingAsked, this, &PlaygroundPanel::train);
    connect(cards_, &PartCards::trainingAskedWith, this, [this](const Recipe& recipe) {
        bench_.requestRecipe(recipe);
        bench_.showPanel("train");
    });
    connect(painter_, &MaskPainter::painted, this, [this](const MaskExpression& mask) {
        AttentionSpec next = edited();
        next.mask = mask;
        edit(with(next), QStringLiteral("stroke %1").arg(++strokes_)); // a new name: each stroke is one step of undo
    });
    split->setStretchFactor(1, 1);
    makeRow(this, spacing::kGap, {split});
    followTheme(bench_, gallery_, maps_, comparison_, painter_, cards_, costs_, positions_, paths_, linear_, patches_);
    connect(&bench_.playground(), &PlaygroundBridge::changed, this, &PlaygroundPanel::receive);
    apply({.query = firstQuery()});
}

QWidget* PlaygroundPanel::makeControls() {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, spacing::kGap, 0);
    editor_ = new SpecEditor;
    inputs_ = identified(new InputControls, "playInputs");
    makeHeader(column);
    column->addWidget(editor_);
    column->addSpacing(spacing::kGap);
    column->addWidget(inputs_);
    column->addStretch(1);
    connect(editor_, &SpecEditor::edited, this, [this](const AttentionSpec& spec, const QString& what) {
        edit(with(spec), (editsOther() ? "B " : "") + what);
    });
    connect(inputs_, &InputControls::changed, this, &PlaygroundPanel::editInput);
    return spoken(new ControlScroll(content), "playControls", tr("Parts of the attention"));
}

void PlaygroundPanel::makeHeader(QVBoxLayout* column) {
    compares_ = helped(new QCheckBox(tr("Compare")), "compare",
                       tr("Add a second attention, B, with the same queries, keys and values"));
    auto* trainButton = helped(new QPushButton(tr("Train this attention")), "trainSpec",
                               tr("Open this attention in the Train panel, with a task that shows what it does"));
    column->addLayout(makeRow({compares_, room(), trainButton}));
    which_ = named(new QTabBar, "whichSpec", tr("Attention to change"),
                   tr("Choose which of the two attentions to change below"));
    which_->setDrawBase(false);
    which_->setExpanding(false);
    which_->addTab(tr("A"));
    which_->addTab(tr("B"));
    copy_ = helped(new QPushButton(tr("Copy A to B")), "copySpec", tr("Replace B by a copy of A"));
    column->addLayout(makeRow({which_, room(), copy_}));
    connect(trainButton, &QPushButton::clicked, this, [this] { train(edited(), {}); });
    connect(compares_, &QCheckBox::toggled, this, [this](bool on) {
        PlaygroundQuery next = setup_.query;
        next.other = on ? std::optional(setup_.query.spec) : std::nullopt;
        edit(next, "compare");
        which_->setCurrentIndex(on ? 1 : 0); // edit B next
    });
    connect(copy_, &QPushButton::clicked, this, [this] {
        PlaygroundQuery next = setup_.query;
        next.other = setup_.query.spec;
        edit(next, "copy");
    });
    connect(which_, &QTabBar::currentChanged, this, [this] {
        showEdited();
        if (views_->currentWidget() == positions_ || showsOneAttention()) ask();
    });
}

QWidget* PlaygroundPanel::makeMaps() {
    auto* container = new QWidget;
    auto* row = new QHBoxLayout;
    row->setContentsMargins(spacing::kGap, spacing::kTight, spacing::kGap, 0);
    const auto spin = [&](const char* name, const QString& text, const QString& help) {
        auto* box = named(new WholeBox, name, text, help);
        auto* title = labelFor(box, text);
        box->setRange(0, 0);
        row->addWidget(title);
        row->addWidget(box);
        connect(box, &QSpinBox::valueChanged, this, &PlaygroundPanel::refreshMaps);
        return std::pair(title, box);
    };
    head_ = spin("playHead", tr("Head"), tr("Head to show, from 0")).second;
    std::tie(planeTitle_, plane_) = spin("playPlane", tr("Channel or step"), tr("Channel or step to show, from 0"));
    plane_->hide();
    planeTitle_->hide();
    state_ = makeHintLabel("playState", tr("Preparing the device. The first heatmaps take a moment."));
    row->addWidget(state_, 1);
    reading_ = identified(new ElidedLabel, "playReading");
    reading_->setMargin(spacing::kTight);
    maps_ = identified(new MapGrid, "playMaps");
    comparison_ = identified(new ComparisonView, "comparison");
    pictures_ = new QStackedWidget;
    pictures_->addWidget(maps_);
    pictures_->addWidget(comparison_);
    patches_ = identified(new PatchView, "playPatches");
    auto* beside = makeRow({{pictures_, 3}, {patches_, 1}});
    untrained_ = makeTextLabel(
        "notRetrained", tr("This model was not trained with this attention; a trained one would behave differently."));
    auto* column = makeColumn(container, 0, {row, untrained_, {beside, 1}});
    connect(maps_, &MapGrid::rowPointed, this, &PlaygroundPanel::showPatches);
    connect(comparison_, &ComparisonView::rowPointed, this, &PlaygroundPanel::showPatches);
    connect(patches_, &PatchView::pointedAt, this, &PlaygroundPanel::showPatches);
    column->addWidget(reading_);
    const QString hint = tr("Point at a cell. Double-click to enlarge its heatmap.");
    reading_->setText(hint);
    const auto read = [this, hint](const QString& text) { reading_->setText(text.isEmpty() ? hint : text); };
    connect(maps_, &MapGrid::readingChanged, this, read);
    connect(comparison_, &ComparisonView::readingChanged, this, read);
    return container;
}

void PlaygroundPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    if (!wasAsked_) ask();
}

void PlaygroundPanel::edit(const PlaygroundQuery& query, const QString& what) {
    edit(PlaygroundSetup{.query = query, .input = setup_.input}, what);
}

void PlaygroundPanel::edit(const PlaygroundSetup& setup, const QString& what) {
    if (setup == setup_) return;
    const QPointer<PlaygroundPanel> panel = this;
    bench_.undoStack().push(new PlaygroundStep(
        tr("changing the playground"),
        [panel](const PlaygroundSetup& shown) {
            if (panel) panel->apply(shown);
        },
        setup_, setup, what, bench_.undoSteps().step()));
}

void PlaygroundPanel::train(const AttentionSpec& spec, std::optional<Slot> slot) {
    bench_.requestRecipe(suggestedRecipe(spec, slot));
    bench_.showPanel("train");
}

void PlaygroundPanel::begin(const AttentionSpec& known, const QString& title) {
    AttentionSpec spec = known;
    // The heads of a model's layer stay if this attention works with them.
    if (setup_.input.kind == InputChoice::Kind::Sentence) {
        spec.parts.at(Slot::Heads) = edited().parts.at(Slot::Heads);
        if (!check(spec, {.headWidth = headWidth()}).empty()) spec = known;
    }
    edit(with(spec), title);
    maps_->showPattern();
    views_->setCurrentWidget(mapsPage_);
}

void PlaygroundPanel::apply(const PlaygroundSetup& setup) {
    setup_ = setup;
    const PlaygroundQuery& query = setup_.query;
    {
        const QSignalBlocker quiet(compares_), quietChoice(which_);
        compares_->setChecked(query.other.has_value());
        if (!query.other) which_->setCurrentIndex(0);
    }
    which_->setVisible(query.other.has_value());
    copy_->setVisible(query.other.has_value());
    copy_->setEnabled(query.other != query.spec);
    showEdited();
    inputs_->setSetup(setup_);
    const bool isPicture = setup_.input.kind == InputChoice::Kind::Picture;
    patches_->setVisible(isPicture);
    showUntrained();
    wasAsked_ = false;
    ask();
}

bool PlaygroundPanel::editsOther() const { return setup_.query.other && which_->currentIndex() == 1; }

const AttentionSpec& PlaygroundPanel::edited() const { return editsOther() ? *setup_.query.other : setup_.query.spec; }

PlaygroundQuery PlaygroundPanel::with(const AttentionSpec& spec) const {
    PlaygroundQuery query = setup_.query;
    if (editsOther())
        query.other = spec;
    else
        query.spec = spec;
    return query;
}

void PlaygroundPanel::showEdited() {
    const bool isCross = setup_.input.kind == InputChoice::Kind::Random && setup_.query.keys > 0;
    editor_->setSpec(edited(), {.isCross = isCross, .headWidth = headWidth()}, tokens());
    painter_->setMask(edited().mask, tokens());
    positions_->setSide(setup_.query.other ? which_->tabText(which_->currentIndex()) : QString());
}

void PlaygroundPanel::ask() {
    wasAsked_ = isVisible();
    if (!wasAsked_) return;
    if (views_->currentWidget() == gallery_) {
        if (const auto query = gallery_->query()) bench_.playground().session().show(*query);
        return;
    }
    if (views_->currentWidget() == cards_) {
        bench_.playground().session().show(cards_->query());
        return;
    }
    if (views_->currentWidget() == positions_)
        bench_.playground().session().show(positions_->query(edited(), headWidth(), setup_.query.seed));
    // The editor explains parts that do not combine; the heatmaps of the last valid spec stay.
    const auto combines = [&](const AttentionSpec& spec) { return check(spec, {.headWidth = headWidth()}).empty(); };
    if (!combines(setup_.query.spec) || (setup_.query.other && !combines(*setup_.query.other))) return;
    if (views_->currentWidget() == costs_) {
        std::vector<AttentionSpec> specs{setup_.query.spec};
        if (setup_.query.other) specs.push_back(*setup_.query.other);
        costs_->setSpecs(specs, headWidth());
        return;
    }
    if (const auto query = complete()) {
        asked_ = *query;
        if (showsOneAttention()) {
            asked_.spec = edited();
            asked_.other.reset();
        }
        if (views_->currentWidget() == paths_) asked_.path = paths_->path();
        if (views_->currentWidget() == linear_) asked_ = linear_->query(asked_);
        bench_.playground().session().show(asked_);
    }
}

void PlaygroundPanel::receive(const std::shared_ptr<const PlaygroundSnapshot>& snapshot) {
    cards_->showPicture(snapshot);
    positions_->showPictures(snapshot);
    const bool isOfGallery = gallery_->showPattern(*snapshot) && snapshot->query != asked_;
    if (views_->currentWidget() == gallery_) return ask(); // for the next card
    if (views_->currentWidget() == cards_ || isOfGallery) return;
    if (snapshot->query != asked_ && showsOneAttention()) return; // of the view before
    if (snapshot->query == asked_)
        editor_->setFailure(snapshot->failure ? shownText(snapshot->failure->sentence()) : QString());
    if (snapshot->failure || snapshot->maps.empty()) return;
    shown_ = snapshot;
    int64_t planes = 1;
    for (const auto* maps : {&shown_->maps, &shown_->otherMaps})
        for (const PlaygroundMap& map : *maps) planes = std::max(planes, map.planes);
    const auto setLast = [](QSpinBox& box, int64_t last) {
        if (box.maximum() == last) return; // to set it would lay out the panel again
        const QSignalBlocker quiet(box);
        box.setMaximum(static_cast<int>(last));
    };
    setLast(*head_, shown_->heads - 1);
    setLast(*plane_, planes - 1);
    head_->setEnabled(shown_->heads > 1);
    plane_->setVisible(planes > 1);
    planeTitle_->setVisible(planes > 1);
    // A later layout would draw every heatmap again. Each layout asks for that of its parent.
    for (QWidget* widget = head_->parentWidget(); widget; widget = widget->parentWidget())
        QCoreApplication::sendPostedEvents(widget, QEvent::LayoutRequest);
    refreshMaps();
}

void PlaygroundPanel::refreshMaps() {
    if (shown_->maps.empty()) return;
    const bool isSentence = shown_->query.layer != nullptr;
    std::vector<QString> labels = isSentence ? tokenLabels(model_->sequence.get()) : std::vector<QString>();
    if (static_cast<int64_t>(labels.size()) > shown_->query.tokens)
        labels.resize(static_cast<size_t>(shown_->query.tokens));
    maps_->setLabels(labels);
    comparison_->setLabels(labels);
    positions_->setLabels(labels);
    if (shown_->query.path) {
        paths_->setLabels(labels);
        return paths_->showPaths(shown_, head_->value());
    }
    if (shown_->query == asked_ && views_->currentWidget() == linear_) {
        linear_->setLabels(labels);
        return linear_->showLayers(shown_, head_->value());
    }
    if (shown_->comparison)
        comparison_->showMaps(shown_, head_->value(), plane_->value());
    else
        maps_->showMaps(shown_, head_->value(), plane_->value());
    pictures_->setCurrentIndex(shown_->comparison ? 1 : 0);
    state_->setText({}); // QLabel::clear() lays out the panel again, even if there was no text
}

std::vector<Panel::Place> PlaygroundPanel::places() {
    std::vector<Place> places;
    for (const PartCards::Card& card : cards_->cards())
        places.push_back({card.title, card.kind,
                          [this, card] {
                              bench_.showPanel("playground");
                              views_->setCurrentWidget(cards_);
                              cards_->showCard(card);
                          },
                          card.idea});
    return places;
}

QJsonObject PlaygroundPanel::saveView() const {
    QJsonObject view{{"spec", QString::fromStdString(setup_.query.spec.text())},
                     {"other", setup_.query.other ? QString::fromStdString(setup_.query.other->text()) : QString()},
                     {"compared", comparison_->kind()},
                     {"positions", positions_->saveView()},
                     {"reach", painter_->saveReach()},
                     {"tab", QLatin1String(kPlaygroundTabs[views_->currentIndex()])},
                     {"head", head_->value()}};
    const QJsonObject input = InputControls::saved(setup_);
    for (auto each = input.begin(); each != input.end(); ++each) view[each.key()] = each.value();
    return view;
}

void PlaygroundPanel::restoreView(const QJsonObject& view) {
    PlaygroundSetup setup = InputControls::restored(view, {.query = firstQuery()});
    PlaygroundQuery& query = setup.query;
    try {
        query.spec = AttentionSpec::parse(view.value("spec").toString().toStdString());
        if (const QString other = view.value("other").toString(); !other.isEmpty())
            query.other = AttentionSpec::parse(other.toStdString());
    } catch (const Error&) { // written by a newer program: keep the default
    }
    comparison_->setKind(view.value("compared").toString());
    positions_->restoreView(view.value("positions").toObject());
    apply(setup);
    painter_->restoreReach(view.value("reach").toArray());
    head_->setMaximum(std::max(head_->maximum(), view.value("head").toInt()));
    head_->setValue(view.value("head").toInt());
    for (int tab = 0; tab < views_->count(); ++tab)
        if (view.value("tab").toString() == QLatin1String(kPlaygroundTabs[tab])) views_->setCurrentIndex(tab);
}

QWidget* PlaygroundPanel::figure() { return views_->currentWidget(); }

bool PlaygroundPanel::showsOneAttention() const {
    return views_->currentWidget() == paths_ || views_->currentWidget() == linear_;
}

const Figure* PlaygroundPanel::currentFigure() const {
    if (views_->currentWidget() == costs_) return &costs_->current();
    if (views_->currentWidget() == positions_) return &positions_->current();
    if (views_->currentWidget() == paths_) return &paths_->current();
    if (views_->currentWidget() == linear_) return &linear_->current();
    if (pictures_->currentWidget() == comparison_) return &comparison_->current();
    return maps_->current() ? &maps_->current()->figure() : nullptr;
}

ExportNumbers PlaygroundPanel::numbers() const {
    const Figure* figure = currentFigure();
    return figure ? numbersOf(*figure) : ExportNumbers{};
}

} // namespace attn
