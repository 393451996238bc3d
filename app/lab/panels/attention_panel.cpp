#include "app/lab/panels/attention_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/controls/flow_strip.h"
#include "app/lab/panels/picture_attention.h"
#include "app/lab/widgets/escape_key.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/site_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QPixmap>
#include <QSettings>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>
#include <QWidgetAction>

#include <algorithm>

namespace attn {
namespace {

constexpr const char* kFlowKey = "flowShown"; ///< of the settings

} // namespace

AttentionPanel::AttentionPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), text_(new TextAttention(bench)), pages_{text_, new PictureAttention(bench)},
      allButton_(new QToolButton), headButton_(new QToolButton), cellButton_(new QToolButton),
      flowButton_(new QToolButton), layer_(new SiteBox), head_(new WholeBox), aggregate_(new QComboBox),
      colours_(new QComboBox), flow_(new FlowStrip(bench)) {
    makeFlow();
    bar_ = new QWidget;
    auto* bar = new FlowLayout(bar_);
    bar->addWidget(makeBreadcrumbs());
    bar->addWidget(makeTools());
    auto* flow = new QWidget;
    makeRow(flow, 0, {{flow_, 1}});
    for (QWidget* part : std::initializer_list<QWidget*>{flow, flowButton_})
        assignControlGroup(part, "candidates"); // it tells the prediction
    auto* column = makeColumn(this, spacing::kTight, {bar_, flow});
    column->setSpacing(spacing::kTight);
    for (AttentionPage* page : pages_) {
        column->addWidget(page, 1);
        connect(page, &AttentionPage::changed, this, &AttentionPanel::showSettings);
        connect(page, &AttentionPage::changed, this, &AttentionPanel::lookChanged);
        connect(page, &AttentionPage::chosen, this, &AttentionPanel::choose);
        connect(page, &AttentionPage::levelChosen, this, &AttentionPanel::chooseLevel);
    }
    connect(&bench_, &Workbench::selectionChanged, this, &AttentionPanel::showSettings);
    showSettings();
}

AttentionPage& AttentionPanel::page() const {
    const auto open = std::ranges::find_if(pages_, [](const AttentionPage* page) { return page->isOpen(); });
    return open == pages_.end() ? *text_ : **open;
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
        focusableIn(*page().view())->setFocus();
    });
    connect(button, &QToolButton::clicked, this, [this, level] { chooseLevel(level); });
}

void AttentionPanel::makeFlow() {
    const QString help = tr("Show the strongest heads on the way to the prediction");
    named(flowButton_, "attentionFlowShown", help, help);
    flowButton_->setText(tr("Flow"));
    flowButton_->setCheckable(true);
    flowButton_->setChecked(QSettings().value(kFlowKey, true).toBool());
    flow_->setVisible(flowButton_->isChecked());
    connect(flowButton_, &QToolButton::clicked, this, [](bool isShown) { QSettings().setValue(kFlowKey, isShown); });
    flowButton_->setProperty("segment", true);
    flowButton_->setAutoRaise(true);
    flowButton_->setFocusPolicy(Qt::StrongFocus);
    connect(flowButton_, &QToolButton::toggled, flow_, &QWidget::setVisible);
    connect(flow_, &FlowStrip::headOpened, this, [this](const HeadChoice& head) {
        choose(head);
        chooseLevel(AttentionLevel::OneHead);
    });
    connect(flow_, &FlowStrip::headPointedAt, this,
            [this](const std::optional<HeadChoice>& head) { page().point(head); });
}

void AttentionPanel::showFlow(bool isShown) {
    flowButton_->setChecked(isShown && QSettings().value(kFlowKey, true).toBool());
}

void AttentionPanel::showTools(bool areShown) {
    bar_->setVisible(areShown);
    flow_->setVisible(areShown && flowButton_->isChecked());
}

QWidget* AttentionPanel::makeTools() {
    tools_ = new QWidget;
    assignControlGroup(tools_, "attention");
    auto* row = new FlowLayout(tools_);
    const auto addLabelled = [row](const QString& text, QWidget* control) {
        auto* pair = new QWidget;
        makeRow(pair, 0, {labelFor(control, text), control});
        row->addWidget(pair);
    };
    for (AttentionPage* page : pages_)
        for (QWidget* tool : page->tools().beforeHead) row->addWidget(tool);
    addLabelled(tr("La&yer"), named(layer_, "attentionLayer", tr("Layer to show, from 0")));
    addLabelled(tr("Hea&d"), named(head_, "attentionHeadNumber", tr("Head to show, from 0")));
    for (AttentionPage* page : pages_)
        for (QWidget* tool : page->tools().afterHead) row->addWidget(tool);
    row->addWidget(flowButton_);
    row->addWidget(makeDisplayButton());
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
    for (AttentionPage* page : pages_)
        for (QWidget* tool : page->tools().beforeColours) column->addWidget(tool);
    add(tr("&Colours"), named(colours_, "attentionColours", tr("Colour map")));
    for (AttentionPage* page : pages_)
        for (QWidget* tool : page->tools().afterColours) column->addWidget(tool);
    aggregate_->addItems({tr("One head"), tr("Mean"), tr("Maximum")});
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
            [this](int index) { page().setAggregate(static_cast<HeadAggregate>(index)); });
    connect(colours_, &QComboBox::currentIndexChanged, this,
            [this](int index) { page().setColours(colourMaps()[static_cast<size_t>(index)].id); });
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

HeadChoice AttentionPanel::choice() const {
    return {bench_.selection().site, bench_.selection().head, page().aggregate()};
}

void AttentionPanel::choose(const HeadChoice& choice) {
    const bool isLocked = !tools_->isEnabled() || tools_->isHidden();
    if (choice == this->choice() || isLocked) return showSettings();
    page().choose(choice);
}

void AttentionPanel::move(int layers, int heads) {
    const auto [site, head, aggregate] = choice();
    choose({std::clamp(site + layers, layer_->minimum(), layer_->maximum()),
            std::clamp(head + heads, head_->minimum(), head_->maximum()), aggregate});
}

void AttentionPanel::switchLevel() {
    chooseLevel(level() == AttentionLevel::OneHead ? AttentionLevel::AllHeads : AttentionLevel::OneHead);
}

void AttentionPanel::chooseLevel(AttentionLevel level) {
    page().forgetRestored();
    setLevel(level);
}

void AttentionPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    page().setSnapshot(snapshot); // the others keep the last snapshot that they can show
    flow_->setSnapshot(snapshot);
}

void AttentionPanel::showSettings() {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    const QSignalBlocker blockers[] = {QSignalBlocker(layer_), QSignalBlocker(head_), QSignalBlocker(aggregate_),
                                       QSignalBlocker(colours_)};
    layer_->setRange(0, model ? std::max(0, model->siteCount() - 1) : 0);
    layer_->setNames(bench_.siteNames());
    const auto [site, head, aggregate] = choice();
    // The selection may already be one of the next model.
    head_->setRange(0, model && site < model->siteCount() ? std::max(0, model->site(site).heads - 1) : 0);
    layer_->setValue(site);
    head_->setValue(head);
    head_->setEnabled(aggregate == HeadAggregate::None);
    aggregate_->setCurrentIndex(static_cast<int>(aggregate));
    colours_->setCurrentIndex(static_cast<int>(page().colours()));
    QToolButton* const buttons[] = {allButton_, headButton_, cellButton_};
    for (QToolButton* button : buttons) button->setChecked(button == buttons[static_cast<size_t>(level())]);
    headButton_->setText(page().hasHead() ? tr("One head") : tr("Rollout"));
    const auto& cell = bench_.selection().cell;
    cellButton_->setEnabled(bench_.tokenCount() > 0);
    cellButton_->setText(cell ? tr("Query %1 → key %2").arg(cell->query).arg(cell->key) : tr("One cell"));
    for (QWidget* tool : std::initializer_list<QWidget*>{layer_->parentWidget(), head_->parentWidget(), aggregate_})
        tool->setVisible(page().hasHead());
    for (AttentionPage* page : pages_) {
        page->setVisible(page->isOpen()); // only the visible page needs room
        page->showSettings();
    }
    colours_->setEnabled(!page().isDifference());
    listenToEscape(level() == AttentionLevel::OneCell);
}

void AttentionPanel::listenToEscape(bool isOn) {
    if (isOn)
        qApp->installEventFilter(this);
    else
        qApp->removeEventFilter(this);
}

bool AttentionPanel::eventFilter(QObject* watched, QEvent* event) {
    if (!isEscapeIn(*this, watched, *event) || !isVisible() || level() != AttentionLevel::OneCell ||
        !headButton_->isEnabled())
        return Panel::eventFilter(watched, event);
    event->accept();
    if (event->type() == QEvent::KeyPress) chooseLevel(AttentionLevel::OneHead);
    return true;
}

ExportNumbers AttentionPanel::numbers() const {
    const Figure* figure = page().shownFigure();
    return figure ? numbersOf(*figure) : ExportNumbers{};
}

std::optional<std::pair<int, int>> AttentionPanel::exportedHead() const {
    if (level() == AttentionLevel::AllHeads || !page().hasHead()) return std::nullopt;
    if (level() == AttentionLevel::OneHead && choice().aggregate != HeadAggregate::None) return std::nullopt;
    return std::pair(bench_.selection().site, bench_.selection().head);
}

QString AttentionPanel::exportName() const {
    if (level() == AttentionLevel::AllHeads) return QStringLiteral("heads");
    if (!page().hasHead()) return QStringLiteral("rollout");
    const auto head = exportedHead();
    if (!head) return bench_.siteLabel(bench_.selection().site).replace(' ', '-') + QStringLiteral("-heads");
    const QString name = bench_.headLabel(head->first, head->second).replace(' ', '-');
    const auto& cell = bench_.selection().cell;
    const bool isCell = page().exportedLevel() == AttentionLevel::OneCell && cell;
    return isCell ? name + QStringLiteral("-q%1-k%2").arg(cell->query).arg(cell->key) : name;
}

QJsonObject AttentionPanel::saveView() const {
    QJsonObject view;
    for (const AttentionPage* page : pages_) inputKind(page->axis()).keepView(view, page->saveView());
    view["flow"] = flowButton_->isChecked();
    return view;
}

void AttentionPanel::restoreView(const QJsonObject& view) {
    for (AttentionPage* page : pages_) page->restoreView(inputKind(page->axis()).viewIn(view));
    if (view.contains("flow")) flowButton_->setChecked(view["flow"].toBool());
}

} // namespace attn
