#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/banner.h"

#include <utility>

namespace attn {

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
    if (std::exchange(runOffer_, {}) == offerBanner_->text()) offerBanner_->dismiss();
}

} // namespace attn
