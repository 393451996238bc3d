#include "app/lab/shell/training_controller.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/notices.h"
#include "app/lab/widgets/status_strip.h"

#include <QFileInfo>
#include <QSettings>

#include <utility>

namespace attn {
namespace {

constexpr auto kTrainingRun = "trainingRun"; ///< the setting: folder of the run that trains, or did

} // namespace

TrainingController::TrainingController(Workbench& bench, Notices& notices, TrainPanel& panel,
                                       std::function<bool()> isInLesson)
    : bench_(bench), notices_(notices), panel_(panel), isInLesson_(std::move(isInLesson)) {
    TrainingBridge* training = &bench_.training();
    connect(training, &TrainingBridge::failed, this, [this](const Failure& failure) { notices_.fail(failure); });
    connect(training, &TrainingBridge::changed, this, [this](const auto& snapshot) {
        const bool isWritten = snapshot->state != TrainingSnapshot::State::None;
        bench_.runs().setWritten(isWritten ? QString::fromStdString(snapshot->folder) : QString());
        show(*snapshot);
        remember(*snapshot);
    });
    // Also when a run is deleted or renamed.
    connect(&bench_.runs(), &RunListModel::curvesChanged, this, &TrainingController::withdrawContinuing);
    connect(training, &TrainingBridge::viewsHeld, this, &TrainingController::offerRun);
    connect(training, &TrainingBridge::pointsArrived, &bench_.runs(), &RunListModel::append);
}

void TrainingController::show(const TrainingSnapshot& snapshot) {
    const QString run = QFileInfo(QString::fromStdString(snapshot.folder)).fileName();
    QString text;
    if (snapshot.preparation >= 0)
        text = tr("Preparing the engine, once: %1 %").arg(qRound(100 * snapshot.preparation));
    if (snapshot.state == TrainingSnapshot::State::Preparing) text = tr("Preparing to train %1").arg(run);
    if (snapshot.state == TrainingSnapshot::State::Training)
        text = tr("Training %1: step %2 of %3")
                   .arg(run, QString::number(snapshot.step), QString::number(snapshot.recipe->schedule.steps));
    notices_.status().setTraining(text);
    withdrawOffer();
    withdrawContinuing();
}

void TrainingController::remember(const TrainingSnapshot& snapshot) {
    using State = TrainingSnapshot::State;
    if (snapshot.state == State::Preparing || snapshot.state == State::Paused) return; // the run that trained, if any
    const bool isOwn = snapshot.state == State::Training && !isInLesson_(); // a lesson starts its own training again
    const QString run = isOwn ? QString::fromStdString(snapshot.folder) : QString();
    if (std::exchange(rememberedRun_, run) == run) return;
    if (run.isEmpty())
        QSettings().remove(kTrainingRun);
    else
        QSettings().setValue(kTrainingRun, run);
}

void TrainingController::offerToContinue() {
    if (notices_.message().isVisibleTo(notices_.message().window())) { // one offer at a time
        connect(&notices_.message(), &Banner::dismissed, this, &TrainingController::offerToContinue,
                Qt::SingleShotConnection);
        return;
    }
    if (bench_.runs().isListing()) {
        connect(&bench_.runs(), &RunListModel::listed, this, &TrainingController::offerToContinue,
                Qt::SingleShotConnection);
        return;
    }
    const QString folder = QSettings().value(kTrainingRun).toString();
    const int row = folder.isEmpty() ? -1 : bench_.runs().rowOf(folder);
    if (row < 0 || !rememberedRun_.isEmpty()) return;
    const RunListModel::Run& run = bench_.runs().runs()[static_cast<size_t>(row)];
    const int64_t step = run.points.empty() ? 0 : run.points.back().step;
    QSettings().remove(kTrainingRun); // it is offered once
    if (step >= run.recipe.schedule.steps) return;
    paused_ = folder;
    pausedOffer_ = tr("The training run “%1” was paused at step %2 of %3.")
                       .arg(run.name, QString::number(step), QString::number(run.recipe.schedule.steps));
    notices_.offer(pausedOffer_, {{tr("Continue training"), tr("Continue from the last checkpoint of the run"),
                                   [this, folder] { panel_.continueRun(folder); }}});
}

void TrainingController::withdrawContinuing() {
    if (pausedOffer_.isEmpty()) return;
    const bool isAtHand = bench_.training().snapshot()->folder == paused_.toStdString();
    if (isAtHand || bench_.runs().rowOf(paused_) < 0) notices_.message().withdraw(std::exchange(pausedOffer_, {}));
}

void TrainingController::offerRun() {
    runOffer_ = tr("Training in the background. You still see your text.");
    offeredBeside_ = QString::fromStdString(bench_.snapshot()->path());
    notices_.offer(runOffer_, {{tr("Show the run"), tr("Show the model that trains in every view"),
                                [this] { bench_.training().follow(true); }}});
}

void TrainingController::withdrawOffer() {
    if (runOffer_.isEmpty() || !bench_.snapshot()) return;
    const auto state = bench_.training().snapshot()->state;
    const bool trains = state == TrainingSnapshot::State::Training || panel_.isStarting();
    const bool isSame = QString::fromStdString(bench_.snapshot()->path()) == offeredBeside_;
    if (isSame && (trains || bench_.training().isWriting())) return;
    notices_.message().withdraw(std::exchange(runOffer_, {}));
}

void TrainingController::prepareEngine() {
    const Status& status = bench_.snapshot()->status;
    if (status.preparesEngine || status.activity != Activity::Idle) {
        isFirstUse_ = isFirstUse_ || status.preparesEngine;
    } else if (std::exchange(isFirstUse_, false)) {
        if (const auto recipe = panel_.recipe()) bench_.training().session().prepare(*recipe, true);
    }
}

} // namespace attn
