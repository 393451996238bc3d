#include "app/lab/controls/flow_strip.h"

#include "app/figures/head_label.h"
#include "app/figures/lens_answer.h"
#include "app/figures/token_label.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QMouseEvent>

#include <cmath>

namespace attn {
namespace {

constexpr int kRestMs = 150;
constexpr double kCheap = 2e10; ///< operations, below a second

std::string keyOfFlow() { return LogitFlowAnalysis{}.key(); }

} // namespace

FlowStrip::FlowStrip(Workbench& bench, QWidget* parent)
    : PointedView(tr("Flow to the prediction"), parent), bench_(bench) {
    setObjectName("attentionFlow");
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setWhatsThis(
        tr("The way from a token to the prediction after it. Each bar is a head: a red bar points up where the head "
           "raises the logit of the prediction, and a blue bar points down where it lowers it. Each layer shows "
           "its strongest heads. Click a head to open it; point at a token to see the prediction after it."));
    rest_.setSingleShot(true);
    rest_.setInterval(kRestMs);
    connect(&rest_, &QTimer::timeout, this, [this] {
        askIfNew();
        draw();
    });
    connect(&bench_, &Workbench::tokenHovered, this, [this](int token) {
        pointed_ = token;
        if (isVisible()) rest_.start();
    });
    const auto follow = [this] {
        askIfNew();
        draw();
    };
    connect(&bench_, &Workbench::selectionChanged, this, follow);
    connect(&bench_, &Workbench::shownRunChanged, this, follow);
    connect(this, &PointedView::pointedAt, this, [this](std::optional<int> item) { emit headPointedAt(headOf(item)); });
    connect(this, &PointedView::chosen, this, [this](int item) { // by the arrow keys
        setChosen(item);
        emit headPointedAt(headOf(item));
    });
    connect(this, &PointedView::activated, this, [this](int item) { emit headOpened(*headOf(item)); });
    followTheme(bench_, static_cast<PointedView*>(this));
    connect(&bench_, &Workbench::themeChanged, this, [this] {
        updateGeometry();
        draw();
    });
    draw();
}

QSize FlowStrip::sizeHint() const { return {420, static_cast<int>(FlowFigure::height(theme()))}; }
QSize FlowStrip::minimumSizeHint() const { return {140, static_cast<int>(FlowFigure::height(theme()))}; }

bool FlowStrip::readsOneText() const {
    const ModelInfo& model = *snapshot_->model;
    return bench_.reads(AxisKind::Tokens) && model.classes == 0 && !model.readsSource;
}

int FlowStrip::wanted() const {
    const ModelInfo& model = *snapshot_->model;
    if (!bench_.reads(AxisKind::Tokens) || model.classes > 0) return -1;
    if (readsOneText()) {
        const Selection& selection = bench_.selection();
        const int selected = selection.cell ? selection.cell->query : selection.row.value_or(-1);
        for (const int token : {pointed_, selected})
            if (token >= 0 && token < bench_.tokenCount()) return token;
    }
    return snapshot_->next ? snapshot_->next->row : bench_.tokenCount() - 1;
}

bool FlowStrip::isCheap() const {
    constexpr double kOperations = 6; // of each parameter and token, forward and backward
    const ModelInfo& model = *snapshot_->model;
    const double rows = bench_.reads(AxisKind::Tokens) ? bench_.tokenCount() : model.tokens();
    return kOperations * rows * static_cast<double>(model.parameterCount) < kCheap;
}

void FlowStrip::ask() {
    asked_ = wanted();
    auto analysis = std::make_shared<LogitFlowAnalysis>();
    analysis->position = *asked_;
    bench_.post(RunAnalysisCommand{analysis});
}

void FlowStrip::askIfNew() {
    if (!isVisible() || !snapshot_ || !snapshot_->model || !canAnalyse(*snapshot_)) return;
    if (bench_.shownRun() == ShownRun::Difference) return;
    if (snapshot_->status.activity != Activity::Idle || known_.contains(wanted()) || asked_ == wanted()) return;
    if (isCheap()) ask();
}

void FlowStrip::take() {
    if (version_ != snapshot_->sequenceVersion) {
        version_ = snapshot_->sequenceVersion;
        known_.clear();
        asked_.reset();
    }
    const auto found = resultIn<LogitAttribution>(snapshot_->analyses, keyOfFlow());
    if (!found || found == taken_ || found->inputVersion != version_) return;
    taken_ = found;
    const bool isOfWhole = !bench_.reads(AxisKind::Tokens) || snapshot_->model->classes > 0;
    known_[isOfWhole ? -1 : found->position] = found;
}

void FlowStrip::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    if (snapshot_->model) take();
    askIfNew();
    draw();
}

QString FlowStrip::note() const {
    if (!snapshot_ || !snapshot_->model || !canAnalyse(*snapshot_)) return {};
    if (bench_.shownRun() == ShownRun::Difference)
        return tr("The flow shows one run. Choose the original or the changed run to see it.");
    if (asked_ == wanted())
        return failureIn(*snapshot_, keyOfFlow()).isEmpty()
                   ? tr("Computing…")
                   : tr("In this model, the prediction is not the sum of what the heads add. Point here to see why.");
    if (snapshot_->status.activity == Activity::Generating) return tr("The flow appears when the model stops writing.");
    return isCheap() ? QString() : tr("Click here to see which heads form the prediction. It takes a moment.");
}

void FlowStrip::draw() {
    auto figure = std::make_unique<FlowFigure>();
    std::optional<int> selected;
    figure->note = note();
    const bool canShow = snapshot_ && snapshot_->model && canAnalyse(*snapshot_);
    const bool isOfOneRun = bench_.shownRun() != ShownRun::Difference;
    const auto known = canShow && isOfOneRun ? known_.find(wanted()) : known_.end();
    if (known != known_.end()) {
        const LogitAttribution& found = *known->second;
        const LensSubject subject = inputKind(*snapshot_).subject(*snapshot_, false);
        figure->target = targetName(subject, found.target);
        figure->to = QStringLiteral("“%1”").arg(subject.choiceName(found.target.token));
        const std::vector<QString> tokens = tokenLabels(snapshot_->sequence.get());
        const bool isOfTokens = bench_.reads(AxisKind::Tokens) && snapshot_->model->classes == 0;
        if (isOfTokens && static_cast<size_t>(found.position) < tokens.size())
            figure->from = QStringLiteral("“%1”").arg(tokens[static_cast<size_t>(found.position)]);
        for (int site = 0; site < snapshot_->model->siteCount(); ++site)
            figure->siteLabels.push_back(bench_.siteLabel(site));
        for (const LogitAttribution::Component& part : found.components)
            if (part.kind == LogitAttribution::Kind::Head)
                figure->all.push_back({part.site, part.head, part.value, QString::fromStdString(part.name)});
        if (figure->all.empty()) figure->note = tr("This model mixes its heads before it adds them to the stream.");
        figure->fit(width(), theme());
        const Selection& selection = bench_.selection();
        for (size_t i = 0; i < figure->heads.size(); ++i)
            if (figure->heads[i].site == selection.site && figure->heads[i].head == selection.head)
                selected = static_cast<int>(i);
    }
    const QString problem = snapshot_ && asked_ ? failureIn(*snapshot_, keyOfFlow()) : QString();
    setToolTip(!figure->heads.empty() ? QString() : problem.isEmpty() ? figure->note : problem);
    setFigure(std::move(figure));
    setChosen(selected);
}

std::optional<HeadChoice> FlowStrip::headOf(std::optional<int> item) const {
    if (!item || *item >= figure()->items()) return {};
    const auto& head = static_cast<const FlowFigure*>(figure())->heads[static_cast<size_t>(*item)];
    return HeadChoice{head.site, head.head};
}

void FlowStrip::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (const auto item = figure()->itemAt(event->position(), rect(), theme())) return emit activated(*item);
    askAgain();
}

void FlowStrip::keyPressEvent(QKeyEvent* event) {
    const bool asks = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space;
    if (asks && figure()->items() == 0) return askAgain();
    PointedView::keyPressEvent(event);
}

void FlowStrip::askAgain() {
    const bool canAsk = snapshot_ && snapshot_->model && canAnalyse(*snapshot_) && figure()->items() == 0;
    if (canAsk && snapshot_->status.activity == Activity::Idle) ask();
}

void FlowStrip::resizeEvent(QResizeEvent* event) {
    PointedView::resizeEvent(event);
    draw();
}

void FlowStrip::showEvent(QShowEvent* event) {
    PointedView::showEvent(event);
    askIfNew();
    draw();
}

void FlowStrip::focusOutEvent(QFocusEvent* event) {
    PointedView::focusOutEvent(event);
    emit headPointedAt({});
}

} // namespace attn
