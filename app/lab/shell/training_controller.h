#pragma once

#include <QObject>

#include <functional>

namespace attn {

class Notices;
class TrainPanel;
class Workbench;
struct TrainingSnapshot;

/// What the window tells of training outside the Train panel: its progress in the status bar, a run that trains beside
/// a text, and a run that can be continued after a restart.
class TrainingController : public QObject {
    Q_OBJECT

public:
    /// @param isInLesson whether a lesson runs, whose training nobody continues
    TrainingController(Workbench& bench, Notices& notices, TrainPanel& panel, std::function<bool()> isInLesson);

    /// Offers to continue the run that was not done when the program ended.
    void offerToContinue();
    /// Takes the offer to show a run away once nothing is written, or the run has ended, or is on screen.
    void withdrawOffer();
    /// At the very first start, compiles the kernels of training once the first picture is there.
    void prepareEngine();

private:
    void show(const TrainingSnapshot& snapshot);
    /// Remembers the run that trains or is paused, until it is done.
    void remember(const TrainingSnapshot& snapshot);
    /// Takes the offer to continue a run away once the run is at hand again, or gone.
    void withdrawContinuing();
    void offerRun(); ///< which trains beside a text that is being written

    Workbench& bench_;
    Notices& notices_;
    TrainPanel& panel_;
    std::function<bool()> isInLesson_;
    QString rememberedRun_;        ///< the folder of the run that trains, or did; empty: none
    QString paused_, pausedOffer_; ///< folder of the run that can be continued, and the text that offers it
    QString runOffer_;             ///< text of offerRun(), while its reason lasts
    QString offeredBeside_;        ///< path of the model that the views keep meanwhile
    bool isFirstUse_ = false;      ///< until prepareEngine()
};

} // namespace attn
