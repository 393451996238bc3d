#include "app/lab/panels/beams_panel.h"

#include "app/figures/beam_figure.h"
#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/pointed_view.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"

#include <QDoubleSpinBox>
#include <QJsonObject>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>

#include <algorithm>

namespace attn {

BeamsPanel::BeamsPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), hint_(makeHintLabel("beamHint")),
      tree_(new PointedView(tr("Tree of the texts that the search considered"))), scroll_(new QScrollArea) {
    const BeamSettings usual;
    width_ = named(new WholeBox, "beamWidth", tr("Beam width"),
                   tr("The number of texts that continue after each token. With 1 the search is greedy"));
    width_->setRange(1, 16);
    width_->setValue(usual.width);
    penalty_ = named(new RangedBox<QDoubleSpinBox>, "beamPenalty", tr("Length penalty"),
                     tr("The score of a text is the logarithm of its probability, divided by its number of tokens to "
                        "this power. With 0, short texts win; the larger it is, the longer the texts that win"));
    penalty_->setRange(0, 3);
    penalty_->setDecimals(1);
    penalty_->setSingleStep(0.1);
    penalty_->setValue(usual.lengthPenalty);
    most_ = named(new WholeBox, "beamTokens", tr("Longest text"), tr("The search adds at most this number of tokens"));
    most_->setRange(1, 200);
    most_->setValue(24);
    most_->setSuffix(tr(" tokens"));
    search_ = helped(new QPushButton(tr("Search")), "beamSearch",
                     tr("Search for the most probable text after the prompt, and write it"));
    search_->setProperty("primary", true);
    step_ = helped(new QPushButton(tr("Search one token")), "beamStep", tr("Add one token to each text of the beam"));
    connect(search_, &QPushButton::clicked, this, [this] { search(0); });
    connect(step_, &QPushButton::clicked, this, [this] { search(1); });
    auto* controls = new QWidget;
    assignControlGroup(controls, "generation");
    auto* flow = new FlowLayout;
    for (auto [box, text] : {std::pair<QWidget*, QString>(width_, tr("Beam width")),
                             {penalty_, tr("Length penalty")},
                             {most_, tr("Longest text")}}) {
        auto* pair = new QWidget;
        makeRow(pair, 0, {labelFor(box, text), box});
        flow->addWidget(pair);
    }
    for (QPushButton* button : {search_, step_}) flow->addWidget(button);
    makeColumn(controls, 0, {flow});
    empty_ = new EmptyState("beamsEmpty", QString());
    assignControlGroup(empty_->offer(tr("Search"), {}, [this] { search(0); }), "generation");
    tree_->setObjectName("beamTree");
    scroll_->setWidget(tree_);
    scroll_->setFrameShape(QFrame::NoFrame);
    makeColumn(this, spacing::kGap, {controls, hint_, {empty_, 1}, {scroll_, 1}});
    connect(tree_, &PointedView::chosen, this, [this](int node) {
        if (!bench_.isTextGone()) bench_.post(GoToHypothesisCommand{node});
    });
    connect(&bench_, &Workbench::themeChanged, this, [this] { show(); });
    followTheme(bench_, tree_);
    show();
}

void BeamsPanel::search(int steps) {
    const auto choice = snapshot_ && snapshot_->model ? snapshot_->model->rules.choice : std::nullopt;
    bench_.post(BeamSearchCommand{.settings = {.width = width_->value(),
                                               .lengthPenalty = penalty_->value(),
                                               .maxTokens = most_->value(),
                                               .repetitionPenalty = bench_.sampling().repetitionPenalty,
                                               .stopsEarly = choice && choice->stopsEarly},
                                  .steps = steps});
}

void BeamsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isSame = before && before->beams == snapshot->beams && before->sequence == snapshot->sequence &&
                        before->model == snapshot->model && before->unread == snapshot->unread &&
                        before->status.activity == snapshot->status.activity;
    const auto choice = snapshot->model ? snapshot->model->rules.choice : std::nullopt;
    if (choice && choice->beams > 1 && (!before || before->model != snapshot->model)) { // as the folder says
        width_->setValue(choice->beams);
        penalty_->setValue(choice->lengthPenalty);
    }
    if (!isSame) show();
}

std::optional<int> BeamsPanel::current() const {
    int node = 0;
    for (const TokenInfo& token : snapshot_->sequence->tokens) {
        if (token.isPrompt) continue;
        const auto& nodes = snapshot_->beams->nodes;
        const auto next = std::ranges::find_if(
            nodes, [&](const BeamNode& each) { return each.parent == node && each.token == token.id; });
        if (next == nodes.end()) return {};
        node = static_cast<int>(next - nodes.begin());
    }
    return node;
}

void BeamsPanel::show() {
    const bool writes = snapshot_ && snapshot_->model && snapshot_->sequence && snapshot_->model->writesText();
    const BeamTree* beams = writes ? snapshot_->beams.get() : nullptr;
    const bool isBusy = snapshot_ && snapshot_->status.activity != Activity::Idle;
    for (QPushButton* button : {search_, step_}) button->setEnabled(writes && !isBusy);
    empty_->setText(
        snapshot_ && snapshot_->model && !snapshot_->model->writesText()
            ? tr("This model fills in hidden words. It writes no text, so there is nothing to search for.")
            : tr("A beam search keeps several texts at once and writes the most probable one. Its tree appears here: "
                 "which texts it kept, dropped and finished."));
    empty_->setEnabled(writes && !isBusy);
    empty_->setVisible(!beams);
    scroll_->setVisible(beams != nullptr);
    tree_->setEnabled(!snapshot_ || !snapshot_->unread);
    hint_->setVisible(beams != nullptr);
    if (!beams) return;
    auto figure = std::make_unique<BeamFigure>();
    figure->title = tr("Beam search, width %1").arg(beams->settings.width);
    figure->note = tr("Each column adds one token, the most probable text on top. A percentage is the probability of "
                      "the token after the tokens before it. A solid frame: kept; a dashed frame: dropped; a double "
                      "frame: finished; the thick line: the best finished text.");
    figure->width = beams->settings.width;
    figure->nodes = beams->nodes;
    for (const std::string& text : beams->texts) figure->texts.push_back(visibleText(QString::fromStdString(text)));
    figure->finished = beams->finished;
    figure->chosen = current().value_or(0); // the root marks nothing
    const BeamNode* best =
        beams->finished.empty() ? nullptr : &beams->nodes[static_cast<size_t>(beams->finished.front())];
    const auto all =
        std::ranges::count_if(beams->nodes, [](const BeamNode& node) { return node.fate == BeamNode::Fate::Finished; });
    hint_->setText(
        best ? tr("%1 Best score %2 (0 is perfect). Click a box to see the attention of its text.")
                   .arg(all == 1 ? tr("1 text finished.")
                        : all == std::ssize(beams->finished)
                            ? tr("%1 texts finished.").arg(all)
                            : tr("%1 texts finished; the best %2 are kept.").arg(all).arg(beams->finished.size()),
                        QString::number(best->score, 'f', 2))
             : tr("No text is finished yet. Click a box: every view then shows the attention of its text."));
    const QSize size = figure->pageSize({}, tree_->theme()).toSize();
    const auto* bar = scroll_->horizontalScrollBar();
    tree_->setFigure(std::move(figure));
    tree_->resize(size.expandedTo(scroll_->viewport()->size()));
    if (std::exchange(shownNodes_, beams->nodes.size()) != beams->nodes.size()) // the best text begins at the left
        scroll_->horizontalScrollBar()->setValue(beams->isDone ? 0 : bar->maximum());
}

QWidget* BeamsPanel::figure() { return tree_; }

ExportNumbers BeamsPanel::numbers() const {
    return snapshot_ && snapshot_->beams && tree_->figure() ? numbersOf(*tree_->figure()) : ExportNumbers{};
}

QJsonObject BeamsPanel::saveView() const {
    return {{"width", width_->value()}, {"lengthPenalty", penalty_->value()}, {"tokens", most_->value()}};
}

void BeamsPanel::restoreView(const QJsonObject& view) {
    const BeamSettings usual;
    width_->setValue(view["width"].toInt(usual.width));
    penalty_->setValue(view["lengthPenalty"].toDouble(usual.lengthPenalty));
    most_->setValue(view["tokens"].toInt(24));
}

} // namespace attn
