#include "app/lab/panels/next_token_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/sampling_fields.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/theme.h"
#include "app/lab/models/candidate_model.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/item_delegates.h"
#include "app/lab/widgets/lock_note.h"
#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/answers.h"
#include "app/lab/workbench/hidden_words.h"
#include "app/lab/workbench/snapshot_views.h"
#include "app/lab/workbench/undo_commands.h"

#include <QTreeView>

#include <utility>
#include <vector>

namespace attn {
namespace {

constexpr Param kGreedy{
    .id = "greedy",
    .title = "Greedy",
    .help = "Always take the most probable token. Switch this off to draw tokens at random, with the controls below.",
    .kind = Param::Kind::Toggle,
    .minimum = 0,
    .maximum = 1,
    .step = 1,
    .initial = 1};
constexpr Param kSeed{
    .id = "seed",
    .title = "Seed",
    .help = "Start of the random numbers. A seed gives the same text again, also after you go back. Only with "
            "0 does the model write another text each time it continues from an earlier token.",
    .kind = Param::Kind::Integer,
    .minimum = 0,
    .maximum = 1e9,
    .step = 1,
    .initial = 0};

/// The greedy switch, the session's sampling parameters, and the seed.
std::span<const Param> controlParams() {
    static const std::vector<Param> params = [] {
        std::vector<Param> list{kGreedy};
        list.insert(list.end(), samplingParams().begin(), samplingParams().end());
        list.push_back(kSeed);
        return list;
    }();
    return params;
}

} // namespace

NextTokenPanel::NextTokenPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), controls_(new ParamControls(controlParams(), this)), candidates_(new CandidateModel(this)),
      list_(new QTreeView(this)), listed_(new QWidget), ended_(new EmptyState("textEnded", {})),
      nothing_(new EmptyState(
          "nextEmpty", tr("There is no text yet. Type a prompt, and the predictions of the model appear here."))) {
    hint_ = makeHintLabel(
        "hiddenWordHint",
        tr("Click a word in the text to hide it. The words that the model predicts in its place appear here."));
    hint_->hide();
    removed_ = makeHintLabel("removedHeads");
    removed_->hide();
    sampling_ = new QWidget;
    order_ =
        makeHintLabel("samplingOrder",
                      tr("They act in this order: repetition penalty, temperature, top-k, top-p, min-p. The list names "
                         "the one that cuts a token."));
    makeColumn(sampling_, 0, {controls_, order_});
    makeColumn(listed_, 0, {list_});
    ended_->offer(tr("Continue"), tr("List the tokens that the model would write after the end"), [this] {
        goesOnAfter_ = snapshot_->branches->current;
        showEnd();
        list_->setFocus();
    });
    ended_->offerAction("reset", tr("Start afresh"));
    ended_->hide();
    nothing_->hide();
    makeColumn(this, spacing::kGap,
               {hint_,
                removed_,
                LockNote::make("nextLocked", tr("A lock hides the predictions of the model."), list_),
                {listed_, 1},
                {ended_, 1},
                {nothing_, 1},
                sampling_});
    assignControlGroup(controls_, "sampling");
    assignControlGroup(list_, "candidates");
    connect(controls_, &ParamControls::valueChanged, this, &NextTokenPanel::change);
    connect(&bench_, &Workbench::samplingChanged, this, &NextTokenPanel::showSampling);
    showSampling();

    named(list_, "candidates", tr("Most probable next tokens"),
          tr("Click a token to use it instead of the model's choice"));
    list_->setModel(candidates_);
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    list_->setSelectionBehavior(QAbstractItemView::SelectRows);
    auto* bars = new ProbabilityDelegate(predictionColour(bench_.theme()), list_);
    list_->setItemDelegateForColumn(CandidateModel::ProbabilityColumn, bars);
    connect(&bench_, &Workbench::themeChanged, bars, [bars, this](ThemeId theme) {
        bars->setColour(predictionColour(theme));
        list_->viewport()->update();
    });
    fitColumns(*list_, CandidateModel::ProbabilityColumn);
    list_->setColumnHidden(CandidateModel::ChangeColumn, true);
    connect(&bench_, &Workbench::shownRunChanged, this, &NextTokenPanel::rank);
    connect(&bench_, &Workbench::changesChanged, this, &NextTokenPanel::showRemoved);
    connect(&bench_, &Workbench::selectionChanged, this, [this] { // of several hidden words, the selected one
        const std::optional<int> row = bench_.selection().row;
        const std::shared_ptr<const Snapshot>& now = bench_.snapshot();
        if (!now || !now->model || !now->model->maskToken || !row || row == predictedWord(*now)) return;
        if (now->sequence->tokens[static_cast<size_t>(*row)].id == *now->model->maskToken)
            bench_.post(PredictWordCommand{*row});
    });
    list_->setMinimumHeight(fontMetrics().height() * 7);
    list_->viewport()->installEventFilter(this);
    connect(list_, &QTreeView::clicked, this, &NextTokenPanel::take);
    connect(list_, &QTreeView::activated, this, &NextTokenPanel::take);
}

void NextTokenPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNew = !snapshot_ || snapshot_->next != snapshot->next || snapshot_->model != snapshot->model ||
                       snapshot_->original != snapshot->original;
    snapshot_ = snapshot;
    if (isNew) rank();
    showRemoved();
    showEnd();
}

QString NextTokenPanel::titleNow() const {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    return !model || model->writesText() ? QString() : answerTitle(*model);
}

void NextTokenPanel::showEnd() {
    const bool hasText = snapshot_->sequence && !snapshot_->sequence->tokens.empty();
    nothing_->setVisible(!hasText);
    listed_->setEnabled(!snapshot_->unread); // the list may be locked
    if (!snapshot_->hasEnded) goesOnAfter_ = -1;
    const bool isShown = snapshot_->hasEnded && snapshot_->branches->current != goesOnAfter_;
    if (isShown)
        ended_->setText(isCompletePicture(*snapshot_)
                            ? tr("The picture is complete.")
                            : tr("The text has ended: its last token, %1, marks the end of a text.")
                                  .arg(visibleText(QString::fromStdString(snapshot_->sequence->tokens.back().text))));
    ended_->setVisible(isShown);
    listed_->setVisible(hasText && !isShown);
}

void NextTokenPanel::showRemoved() {
    removed_->setText(bench_.removedHeads());
    removed_->setVisible(!removed_->text().isEmpty());
}

bool NextTokenPanel::saysNumbers() const { return candidates_->activation() == ClassActivation::None; }

ExportNumbers NextTokenPanel::numbers() const {
    const bool showsChange = candidates_->showsChange();
    const int64_t count = candidates_->rowCount(); // a few
    QString text = saysNumbers() ? "token,text,answer" : "token,text,probability,logit";
    text += showsChange ? ",change\n" : "\n";
    std::vector<NumberArray> arrays{{"token", {count}, {}}, {saysNumbers() ? "answer" : "probability", {count}, {}}};
    if (!saysNumbers()) arrays.push_back({"logit", {count}, {}});
    if (showsChange) arrays.push_back({"change", {count}, {}});
    for (int row = 0; row < candidates_->rowCount(); ++row) {
        const Candidate& candidate = candidates_->candidate(row);
        QString label = candidates_->text(row);
        text += QStringLiteral("%1,\"%2\",%3")
                    .arg(QString::number(candidate.token), label.replace('"', "\"\""),
                         QString::number(static_cast<double>(candidate.probability)));
        if (!saysNumbers()) text += QStringLiteral(",%1").arg(static_cast<double>(candidate.logit));
        if (showsChange) text += QStringLiteral(",%1").arg(static_cast<double>(candidates_->change(row)));
        text += '\n';
        arrays[0].values.push_back(static_cast<float>(candidate.token));
        arrays[1].values.push_back(candidate.probability);
        if (!saysNumbers()) arrays[2].values.push_back(candidate.logit);
        if (showsChange) arrays.back().values.push_back(candidates_->change(row));
    }
    return {.csv = [text] { return text; }, .arrays = [arrays] { return arrays; }};
}

void NextTokenPanel::rank() {
    if (!snapshot_) return;
    hint_->setVisible(snapshot_->model && snapshot_->model->maskToken && snapshot_->sequence &&
                      !snapshot_->sequence->tokens.empty() && !predictedWord(*snapshot_));
    candidates_->rank(*snapshot_, bench_.sampling(),
                      bench_.shownRun() == ShownRun::Difference ? snapshot_->original.get() : nullptr);
    list_->setColumnHidden(CandidateModel::ChangeColumn, !candidates_->showsChange());
    list_->setColumnHidden(CandidateModel::LogitColumn, saysNumbers()); // they are the answers themselves
    sampling_->setVisible(candidates_->listsTokens() && snapshot_->model && snapshot_->model->writesText());
}

void NextTokenPanel::change(const QString& id, double value) {
    Sampling sampling = bench_.sampling();
    setSamplingValue(sampling, id.toStdString(), value);
    bench_.setSampling(sampling);
}

void NextTokenPanel::showSampling() {
    for (const Param& param : controlParams()) {
        controls_->setValue(param.id, samplingValue(bench_.sampling(), param.id));
        controls_->setShown(param.id, isSamplingFieldUsed(bench_.sampling(), param.id));
    }
    order_->setVisible(!bench_.sampling().greedy);
    rank();
}

/// Ignores the second half of a double click: by then another token may be in the row.
bool NextTokenPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched != list_->viewport()) return Panel::eventFilter(watched, event);
    if (event->type() == QEvent::MouseButtonDblClick) return isSecondClick_ = true;
    const bool isClickEnd = event->type() == QEvent::MouseButtonRelease;
    return (isClickEnd && std::exchange(isSecondClick_, false)) || Panel::eventFilter(watched, event);
}

void NextTokenPanel::take(const QModelIndex& index) {
    if (!index.isValid() || !snapshot_ || !snapshot_->branches || !candidates_->listsTokens() || bench_.isTextGone())
        return;
    const int token = index.data(CandidateModel::TokenRole).toInt();
    list_->selectionModel()->clear(); // another token comes into its row
    if (const auto hidden = predictedWord(*snapshot_)) {
        const std::string word = tokenText(*snapshot_, token).trimmed().toStdString();
        return changePrompt(
            bench_, withWord(*snapshot_->sequence, snapshot_->sequence->tokens[static_cast<size_t>(*hidden)], word));
    }
    bench_.undoStack().push(new BranchMove(bench_.poster(), snapshot_->branches->current,
                                           TakeTokenCommand{.token = token, .node = snapshot_->branches->current},
                                           tr("choosing a token")));
}

} // namespace attn
