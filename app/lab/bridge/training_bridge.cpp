#include "app/lab/bridge/training_bridge.h"

#include "engine/models/memory_source.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

/// The views may work for at most one part in this many of the time. With drawing, that is less than a tenth of the
/// machine.
constexpr int kPauseFactor = 12;
constexpr int kShortestPauseMs = 120;
constexpr int kLongestPauseMs = 2000; ///< with longer delays, the pictures would not look live

} // namespace

TrainingBridge::TrainingBridge(DeviceChoice choice, SessionBridge& views, QObject* parent)
    : QObject(parent), views_(views), delivery_([this] { deliver(); }),
      session_(std::make_unique<TrainingSession>(std::move(choice))) {
    session_->setListener([this] { delivery_.request(); });
    pause_.setSingleShot(true);
    connect(&pause_, &QTimer::timeout, this, [this] {
        if (isFollowing_) session_->requestWeights();
    });
    connect(&views_, &SessionBridge::snapshotChanged, this, [this](const std::shared_ptr<const Snapshot>& snapshot) {
        std::optional<ShownStep> shownStep;
        if (snapshot->shown)
            shownStep = {.run = QString::fromStdString(snapshot->shown->run), .step = snapshot->shown->step};
        if (std::exchange(shownStep_, shownStep) != shownStep) emit shownStepChanged();
        if (!snapshot->shown) return;
        const bool waits = !snapshot->sequence && !snapshot->answer && !snapshot->runFailure; // for the picture
        if (waits) return;
        if (underway_ && snapshot->shown->weights == underway_) onShown(underway_);
        emit stepShown(QString::fromStdString(snapshot->shown->path));
    });
    connect(&views_, &SessionBridge::failed, this, [this] { underway_.reset(); });
    connect(&views_, &SessionBridge::posted, this, [this](const Command& command) {
        if (std::holds_alternative<OpenModelCommand>(command)) follow(false);
    });
}

TrainingBridge::~TrainingBridge() {
    disconnect(&views_, nullptr, this, nullptr);
    delivery_.close();
    session_.reset();
}

void TrainingBridge::deliver() {
    const auto before = std::exchange(snapshot_, session_->latest());
    if (const auto points = session_->takePoints(); !points.empty())
        emit pointsArrived(QString::fromStdString(snapshot_->folder), points);
    emit changed(snapshot_); // the step of the views is among the points
    if (snapshot_->failure && snapshot_->failureCount != failureCount_) emit failed(*snapshot_->failure);
    failureCount_ = snapshot_->failureCount;
    const bool isOpen = snapshot_->weights != nullptr; // a run that cannot be opened leaves the views to the one before
    if (isOpen && snapshot_->folder != opened_ && !isHeld_) follow(true);
    if (isOpen || snapshot_->folder.empty()) opened_ = snapshot_->folder;
    if (isFollowing_ && snapshot_->weights && snapshot_->weights != before->weights) showNewest();
}

bool TrainingBridge::isWriting() const { return views_.latest()->status.activity == Activity::Generating; }

void TrainingBridge::holdViews(bool on) {
    isHeld_ = on;
    if (!on) return;
    follow(false);
    emit viewsHeld();
}

void TrainingBridge::follow(bool on) {
    if (on) isHeld_ = false;
    if (std::exchange(isFollowing_, on) == on) return;
    if (on && snapshot_->weights) {
        showNewest();
        if (snapshot_->state == TrainingSnapshot::State::Training) session_->requestWeights();
    }
    emit followingChanged(on);
}

void TrainingBridge::showNewest() {
    if (underway_ || !snapshot_->weights)
        return; // onShown continues later; a run that has just started has no weights yet
    underway_ = snapshot_->weights;
    opensRun_ = !shownStep_ || shownStep_->run.toStdString() != snapshot_->folder;
    sincePosted_.start();
    views_.post(ShowWeightsCommand{.weights = underway_,
                                   .path = snapshot_->folder,
                                   .run = snapshot_->folder,
                                   .title = tr("step %1").arg(snapshot_->weightsStep).toStdString(),
                                   .given = snapshot_->example,
                                   .step = snapshot_->weightsStep});
}

std::optional<AnswersAtStep> TrainingBridge::answers() const {
    if (snapshot_->answers.step < 0) return std::nullopt;
    if (isFollowing_) return snapshot_->answers;
    if (!shownStep_ || shownStep_->run.toStdString() != snapshot_->folder) return std::nullopt;
    const AnswersBySteps& all = *snapshot_->allAnswers;
    const auto after = std::ranges::upper_bound(all, shownStep_->step, {}, &AnswersAtStep::step);
    return after == all.begin() ? std::nullopt : std::optional(*std::prev(after));
}

void TrainingBridge::onShown(std::shared_ptr<const WeightSet> weights) {
    underway_.reset();
    if (!isFollowing_) return;
    if (snapshot_->weights != weights) return showNewest(); // always shows the last weights of a run
    if (opensRun_) return pause_.start(kShortestPauseMs);   // this step built the model and its kernels once
    pause_.start(
        std::clamp(static_cast<int>(sincePosted_.elapsed()) * kPauseFactor, kShortestPauseMs, kLongestPauseMs));
}

void TrainingBridge::show(const QString& run, const QString& checkpoint, int64_t step) {
    follow(false);
    const bool isTrained = run.toStdString() == snapshot_->folder; // another run has an example, and tokens, of its own
    views_.post(ShowWeightsCommand{.path = checkpoint.toStdString(), // opening it reports any problem
                                   .run = run.toStdString(),
                                   .title = tr("step %1").arg(step).toStdString(),
                                   .given = isTrained ? snapshot_->example : GivenText{},
                                   .step = step});
}

} // namespace attn
