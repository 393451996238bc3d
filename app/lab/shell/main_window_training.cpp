#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/banner.h"
#include "app/lab/widgets/status_strip.h"

#include <QFileInfo>
#include <QSettings>

#include <utility>

namespace attn {
namespace {

constexpr auto kTrainingRun = "trainingRun"; ///< the setting: folder of the run that trains, or did

} // namespace

void MainWindow::showTraining(const TrainingSnapshot& snapshot) {
    const QString run = QFileInfo(QString::fromStdString(snapshot.folder)).fileName();
    QString text;
    if (snapshot.preparation >= 0)
        text = tr("Preparing the engine, once: %1 %").arg(qRound(100 * snapshot.preparation));
    if (snapshot.state == TrainingSnapshot::State::Preparing) text = tr("Preparing to train %1").arg(run);
    if (snapshot.state == TrainingSnapshot::State::Training)
        text = tr("Training %1: step %2 of %3").arg(run).arg(snapshot.step).arg(snapshot.recipe->schedule.steps);
    status_->setTraining(text);
    withdrawRunOffer();
}

void MainWindow::rememberTraining(const TrainingSnapshot& snapshot) {
    using State = TrainingSnapshot::State;
    if (snapshot.state == State::Preparing || snapshot.state == State::Paused) return; // the run that trained, if any
    const bool isOwn = snapshot.state == State::Training && !lessons_->before();       // a lesson begins its own anew
    const QString run = isOwn ? QString::fromStdString(snapshot.folder) : QString();
    if (std::exchange(rememberedRun_, run) == run) return;
    if (run.isEmpty())
        QSettings().remove(kTrainingRun);
    else
        QSettings().setValue(kTrainingRun, run);
}

void MainWindow::offerTraining() {
    if (offerBanner_->isVisibleTo(this)) { // one offer at a time
        connect(offerBanner_, &Banner::dismissed, this, &MainWindow::offerTraining, Qt::SingleShotConnection);
        return;
    }
    if (runs_.isListing()) {
        connect(&runs_, &RunListModel::listed, this, &MainWindow::offerTraining, Qt::SingleShotConnection);
        return;
    }
    const QString folder = QSettings().value(kTrainingRun).toString();
    const int row = folder.isEmpty() ? -1 : runs_.rowOf(folder);
    if (row < 0 || !rememberedRun_.isEmpty()) return;
    const RunListModel::Run& run = runs_.runs()[static_cast<size_t>(row)];
    const int64_t step = run.points.empty() ? 0 : run.points.back().step;
    QSettings().remove(kTrainingRun); // it is offered once
    if (step >= run.recipe.schedule.steps) return;
    offerBanner_->present(Banner::Kind::Offer,
                          tr("The training run “%1” was paused at step %2 of %3.")
                              .arg(run.name, QString::number(step), QString::number(run.recipe.schedule.steps)),
                          {{tr("Continue training"), tr("Go on from the last checkpoint of the run"), [this, folder] {
                                bench_.showPanel("train");
                                runs_.setActive(folder);
                                train_->playOrPause();
                            }}});
}

void MainWindow::offerRun() {
    runOffer_ = tr("Training in the background. You still see your text.");
    offeredBeside_ = QString::fromStdString(bench_.snapshot()->path());
    offerBanner_->present(
        Banner::Kind::Offer, runOffer_,
        {{tr("Show the run"), tr("Show the model that trains in every view"), [this] { training_.follow(true); }}});
}

void MainWindow::withdrawRunOffer() {
    if (runOffer_.isEmpty() || !bench_.snapshot()) return;
    const auto state = training_.snapshot()->state;
    const bool trains = state == TrainingSnapshot::State::Training || train_->isStarting();
    const bool isSame = QString::fromStdString(bench_.snapshot()->path()) == offeredBeside_;
    if (isSame && (trains || training_.isWriting())) return;
    offerBanner_->withdraw(std::exchange(runOffer_, {}));
}

} // namespace attn
