#include "app/lab/workbench/workbench.h"

#include "app/figures/head_label.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/undo_commands.h"
#include "engine/inference/named_changes.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

using ChangesStep = StateStep<Changes, 2>;

bool areEqual(const std::shared_ptr<const Changes>& a, const std::shared_ptr<const Changes>& b) {
    return a == b || ((!a || a->empty()) && (!b || b->empty()));
}

} // namespace

Workbench::Workbench(QUndoGroup& undo, Poster post, TrainingBridge* training, RunListModel* runs,
                     PlaygroundBridge* playground)
    : undo_(undo), post_(std::move(post)), training_(training), runs_(runs), playground_(playground),
      pictures_(std::make_unique<PictureBench>(*this)) {}

Workbench::~Workbench() = default;

void Workbench::setTheme(ThemeId theme) {
    theme_ = theme;
    emit themeChanged(theme);
}

bool Workbench::isTextGone() const {
    return snapshot_ && (snapshot_->promptNumber < textNumber_ || snapshot_->openings < openings_ ||
                         snapshot_->status.activity == Activity::Loading || snapshot_->unread);
}

void Workbench::follow(const Command& command) {
    if (const auto* prompt = std::get_if<SetPromptCommand>(&command)) textNumber_ = prompt->number;
    if (const auto* restored = std::get_if<RestoreBranchesCommand>(&command)) textNumber_ = restored->number;
    if (std::holds_alternative<OpenModelCommand>(command)) ++openings_;
}

const InputKind& Workbench::input() const { return snapshot_ ? inputKind(*snapshot_) : inputKind(AxisKind::Tokens); }

bool Workbench::reads(AxisKind axis) const {
    const auto isOfKind = [axis](const Axis& each) { return each.kind == axis; };
    return axis == input().axis() || (hasModel() && std::ranges::any_of(snapshot_->model->structure.axes, isOfKind));
}

int Workbench::tokenCount() const {
    return snapshot_ && snapshot_->sequence ? static_cast<int>(snapshot_->sequence->tokens.size()) : 0;
}

QString Workbench::siteLabel(int site) const {
    const bool isKnown = hasModel() && site >= 0 && site < snapshot_->model->siteCount();
    return isKnown ? QString::fromStdString(snapshot_->model->structure.labelOf(site)) : layerLabel(site);
}

std::vector<QString> Workbench::siteNames() const {
    std::vector<QString> names;
    for (int site = 0; hasModel() && snapshot_->model->readsSource && site < snapshot_->model->siteCount(); ++site)
        names.push_back(siteLabel(site));
    return names;
}

QString Workbench::headLabel(int site, int head) const { return siteLabel(site) + ' ' + headColumnLabel(head); }

int Workbench::queryCount() const {
    return snapshot_ ? static_cast<int>(snapshot_->queries(selection_.site).size()) : 0;
}

int Workbench::keyCount() const { return snapshot_ ? static_cast<int>(snapshot_->keys(selection_.site).size()) : 0; }

void Workbench::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewModel = !snapshot_ || snapshot_->model != snapshot->model;
    const bool isSameFolder = snapshot_ && snapshot_->path() == snapshot->path(); // another step of a training run
    snapshot_ = snapshot;
    isGivingOut_ = true;
    if (isNewModel) {
        postedPattern_.reset();
        postedProfile_ = {};
        asked_.reset();
        showRun(ShownRun::Changed);
        selectCell(std::nullopt);
        if (!isSameFolder) selectRow(std::nullopt);
        if (snapshot_->model)
            if (const auto site = input().firstSite(*snapshot_->model, isSameFolder)) selectHead(*site, 0);
        pictures_->forgetModel();
        startSampling();
    }
    // Changes that were posted are newer than the snapshot's, unless the session has taken or refused them.
    if (isNewModel || areEqual(snapshot->changes, changes_) || snapshot->failureCount != failuresBefore_)
        areChangesPosted_ = false;
    if (!areChangesPosted_) adoptChanges();
    select(selection_);
    postViews();
    explainIfStale();
    pictures_->askForRollout();
    emit snapshotChanged(snapshot);
    isGivingOut_ = false;
    tell();
    if (isNewModel) emit pictures_->lookChanged();
    emit snapshotShown(snapshot);
}

void Workbench::adoptChanges() {
    const auto now = snapshot_->changes ? snapshot_->changes : std::make_shared<const Changes>();
    changes_ = now;
    tell();
}

void Workbench::tell() {
    if (isGivingOut_) return;
    const Selection before = std::exchange(toldSelection_, selection_);
    const bool hasOtherChanges = *std::exchange(toldChanges_, changes_) != *changes_;
    if (std::exchange(toldRun_, shownRun_) != shownRun_) emit shownRunChanged(shownRun_);
    if (hasOtherChanges) emit changesChanged();
    if (before.site != selection_.site || before.head != selection_.head)
        emit headSelected(selection_.site, selection_.head);
    if (before != selection_) emit selectionChanged();
}

// The selection -------------------------------------------------------------------------------------------------------

void Workbench::select(Selection selection) {
    if (hasModel()) {
        selection.site = std::clamp(selection.site, 0, std::max(0, snapshot_->model->siteCount() - 1));
        selection.head = std::clamp(selection.head, 0, std::max(0, snapshot_->model->site(selection.site).heads - 1));
        if (selection.row && *selection.row >= input().rowCount(*snapshot_)) selection.row.reset();
        if (selection.cell && (selection.cell->query >= std::ssize(snapshot_->queries(selection.site)) ||
                               selection.cell->key >= std::ssize(snapshot_->keys(selection.site))))
            selection.cell.reset();
    }
    if (selection == selection_) return;
    selection_ = selection;
    postViews();
    explainIfStale();
    tell();
}

void Workbench::selectHead(int site, int head) { select({site, head, selection_.row, selection_.cell}); }

void Workbench::selectRow(std::optional<int> row) { select({selection_.site, selection_.head, row, selection_.cell}); }

void Workbench::selectCell(std::optional<Cell> cell) {
    select({selection_.site, selection_.head, selection_.row, cell});
}

// Changes and the run on display --------------------------------------------------------------------------------------

void Workbench::change(Changes changes, const QString& text, const QString& what) {
    if (!hasModel()) return;
    if (changes != *changes_)
        return undoStack().push(new ChangesStep(
            text, [this](const Changes& each) { setChanges(each); }, *changes_, std::move(changes), what,
            undoSteps_.step()));
    if (shownRun_ == ShownRun::Original) showRun(ShownRun::Changed);
}

void Workbench::addChanges(const std::vector<ValueChange>& valueChanges) {
    Changes after = *changes_;
    after.valueChanges.insert(after.valueChanges.end(), valueChanges.begin(), valueChanges.end());
    const QString what = QStringLiteral("add %1").arg(after.valueChanges.size());
    change(std::move(after), tr("adding a change"), what);
}

void Workbench::setGate(int site, int head, float gate) {
    if (!hasModel()) return;
    Changes after = *changes_;
    for (int s = 0; s < snapshot_->model->siteCount(); ++s)
        for (int h = 0; h < snapshot_->model->site(s).heads; ++h)
            if ((site < 0 || s == site) && (head < 0 || h == head)) after.setGate(s, h, gate);
    change(std::move(after), tr("changing a gate"), QStringLiteral("gate %1.%2").arg(site).arg(head));
}

float Workbench::shownGate(int site, int head) const {
    return shownRun_ == ShownRun::Original ? 1.0f : changes_->gate(site, head);
}

float Workbench::shownShare(int site, int head) const {
    if (shownRun_ == ShownRun::Original) return 1.0f;
    return keptShare(*changes_, hasModel() ? snapshot_->model->structure : ModelStructure{}, site, head);
}

QString Workbench::conditionOf(int site, int head) const {
    const float share = shownShare(site, head);
    if (share == 1) return {};
    return share == 0 ? tr(" (removed)") : tr(" (%1 % kept)").arg(qRound(share * 100));
}

QString Workbench::removedHeads() const {
    constexpr qsizetype kMostNamed = 6;
    if (!hasModel() || changes_->empty()) return {};
    QStringList names;
    for (int site = 0; site < snapshot_->model->siteCount(); ++site)
        for (int head = 0; head < snapshot_->model->site(site).heads; ++head)
            if (shownShare(site, head) == 0) names << headLabel(site, head);
    if (names.isEmpty()) return {};
    if (names.size() == 1) return tr("Head %1 is removed.").arg(names.front());
    const qsizetype others = names.size() - kMostNamed;
    if (others <= 0) return tr("These heads are removed: %1.").arg(names.join(QStringLiteral(", ")));
    return tr("These heads are removed: %1 and %2 more.")
        .arg(names.first(kMostNamed).join(QStringLiteral(", ")), QString::number(others));
}

void Workbench::reopenHead(int site, int head, float gate) {
    Changes after = *changes_;
    after.setGate(site, head, gate);
    std::erase_if(after.valueChanges, [&](const ValueChange& each) {
        return each.head == head && takesFromHead(each, snapshot_->model->site(site), head);
    });
    change(std::move(after), tr("restoring a head"), QStringLiteral("gate %1.%2").arg(site).arg(head));
}

void Workbench::restoreOriginal() {
    change({}, tr("restoring the original"), "reset");
    showRun(ShownRun::Changed);
}

void Workbench::setChanges(Changes changes) {
    if (shownRun_ == ShownRun::Original) showRun(ShownRun::Changed); // so that the new change is visible
    changes_ = std::make_shared<const Changes>(std::move(changes));
    areChangesPosted_ = true;
    failuresBefore_ = snapshot_ ? snapshot_->failureCount : 0;
    post(SetChangesCommand{changes_});
    tell();
}

void Workbench::showRun(ShownRun run) {
    if (std::exchange(shownRun_, run) == run) return;
    post(ShowRunCommand{run});
    tell();
}

const OriginalViews* Workbench::compared(const Snapshot& snapshot) const {
    return shownRun_ == ShownRun::Difference ? snapshot.originalViews.get() : nullptr;
}

std::shared_ptr<const AnalysisResult> Workbench::comparedAnalysis(const Snapshot& snapshot,
                                                                  const std::string& key) const {
    const auto found = snapshot.originalAnalyses.find(key);
    const bool isShown = shownRun_ == ShownRun::Difference && found != snapshot.originalAnalyses.end();
    return isShown ? found->second : nullptr;
}

// The wanted views ----------------------------------------------------------------------------------------------------

void Workbench::want(const QObject* who, const WantedViews& views) {
    if (std::exchange(wanted_[who], views) == views) return;
    postViews();
    explainIfStale();
}

bool Workbench::wantsGrid() const {
    return std::ranges::any_of(wanted_, [](const auto& each) { return each.second.pattern.thumbnailSize > 0; });
}

void Workbench::postViews() {
    PatternRequest pattern{.site = selection_.site, .head = selection_.head, .thumbnailSize = 0, .detail = false};
    SetProfileCommand profile;
    for (const auto& [who, views] : wanted_) {
        const PatternRequest& each = views.pattern;
        pattern.thumbnailSize = std::max(pattern.thumbnailSize, each.thumbnailSize);
        pattern.detail |= each.detail;
        pattern.hidesFirst |= each.hidesFirst;
        if (each.aggregate != HeadAggregate::None) pattern.aggregate = each.aggregate;
        if (each.queryEnd > 0)
            std::tie(pattern.queryBegin, pattern.queryEnd, pattern.keyBegin, pattern.keyEnd) =
                std::tie(each.queryBegin, each.queryEnd, each.keyBegin, each.keyEnd);
        if (views.profile) profile = {.site = selection_.site, .head = selection_.head};
    }
    if (!wanted_.empty() && postedPattern_ != pattern) post(*(postedPattern_ = pattern));
    if (std::exchange(postedProfile_, profile) != profile) post(profile);
}

void Workbench::explainIfStale() {
    if (!hasModel()) return;
    if (!selection_.cell) {
        if (std::exchange(asked_, {})) post(CellRequest{.site = -1}); // no run has to explain it
        return;
    }
    const Activity activity = snapshot_->status.activity;
    const bool isWanted = std::ranges::any_of(wanted_, [](const auto& each) { return each.second.cell; });
    // While the model writes, every token would ask again, so only the last one does.
    if (activity == Activity::Loading || (activity == Activity::Generating && !isWanted)) return;
    const CellRequest wanted{selection_.site, selection_.head, selection_.cell->query, selection_.cell->key};
    if (asked_ == wanted && askedVersion_ == snapshot_->sequenceVersion) return;
    // The session explains the cell that it was last asked for again with each run.
    const bool isAnswered = asked_ == wanted && snapshot_->explanation && snapshot_->explanation->cell() == wanted;
    asked_ = wanted;
    askedVersion_ = snapshot_->sequenceVersion;
    if (!isAnswered) post(wanted);
}

// Generation ----------------------------------------------------------------------------------------------------------

/// A model starts with the sampling of its folder, unless a person has chosen another.
void Workbench::startSampling() {
    const auto& choice = snapshot_->model ? snapshot_->model->rules.choice : std::nullopt;
    const Sampling usual = choice ? samplingOf(*choice) : Sampling{};
    const Sampling before = std::exchange(usualSampling_, usual);
    if (sampling_ == before && usual != before) setSampling(usual);
}

void Workbench::setSampling(const Sampling& sampling) {
    sampling_ = sampling;
    post(SetSamplingCommand{sampling_});
    emit samplingChanged();
}

} // namespace attn
