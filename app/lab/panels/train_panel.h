#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/workbench/panel.h"
#include "engine/session/training_session.h"
#include "engine/training/recipe.h"

#include <QTimer>

#include <filesystem>
#include <vector>

class QCheckBox;
class QDoubleSpinBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSlider;
class QToolButton;

namespace attn {

class RecipeForm;

/// Holds the recipe form and the buttons that train, and makes the timeline that shows any checkpoint in every view.
class TrainPanel : public Panel {
    Q_OBJECT

public:
    explicit TrainPanel(Workbench& bench, QWidget* parent = nullptr);

    /// The recipe in the form; empty while its fields contradict each other.
    const std::optional<Recipe>& recipe() const;
    /// The timeline of the open run, which the window places below the figure.
    QWidget* timeline() const { return timelinePart_; }
    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    std::vector<Place> places() override;
    QJsonObject saveView() const override; ///< the recipe, the open run, and the runs whose curves are shown
    /// A run that trains keeps its place.
    void restoreView(const QJsonObject& view) override;
    void playOrPause();
    /// Starts or continues a training run. One that trains continues.
    void play();
    /// Sets the form to train the open model further.
    void trainFromHere();
    /// Shows a run of the list and trains it further, unless it trains already or is finished.
    void continueRun(const QString& folder);
    bool isTraining() const; ///< and not paused
    /// Whether a run is about to train: the session has not opened it yet.
    bool isStarting() const;
    void step();
    /// Makes a new training run of the same recipe, with untrained parameters. The previous run stays in the list.
    void reset();

signals:
    void exportRequested();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override; ///< what the task can learn from; the window opens the rest
    void dropEvent(QDropEvent* event) override;

private:
    QString newestMetrics() const;
    QWidget* makeButtons();
    QWidget* makePace();
    void makeTimeline();
    void showTraining(const std::shared_ptr<const TrainingSnapshot>& snapshot);
    void openRun(const QString& folder);
    void restoreRuns(); ///< of restoreView(), once the runs are listed
    bool holdViews();   ///< @return whether a model writes, which then keeps the views
    void start(bool plays);
    void startNew(bool plays); ///< a run of the recipe in the form, in a folder of its own
    void startRun(const QString& folder, bool plays);
    void takeBack();          ///< the new run, which could not begin: the one before is shown again
    bool continues() const;   ///< whether the form holds the recipe of the open run
    bool isOfTrainer() const; ///< whether the open run is the one that the session holds
    void listCheckpoints();   ///< on another thread; then shows the timeline
    void showTimeline();
    void scrub(int position);
    void animate();
    void updateButtons();
    void askMemory(); ///< of a step with the recipe in the form, on another thread, after a pause
    void computeMemory();
    double pace() const;

    std::shared_ptr<const TrainingSnapshot> training_;
    std::vector<std::filesystem::path> checkpoints_; ///< of the run in listed_
    QString listed_;
    QJsonObject restored_;        ///< the view whose runs are not listed yet
    QString starting_;            ///< the run that the session is asked to open, until it does
    std::optional<Recipe> asked_; ///< its recipe
    /// A new run that is not open yet.
    struct Opening {
        QString folder, before;    ///< before: the run that was open
        bool wasShown = false;     ///< the run before, among the curves
        uint64_t failureCount = 0; ///< until then
    };
    std::optional<Opening> opening_;
    BackgroundTask listing_;
    uint64_t checkpointCount_ = 0;
    std::string openPath_; ///< of the open model
    RecipeForm* form_;
    QPushButton *play_, *step_, *reset_;
    QSlider* pace_;
    QLabel* paceLabel_;
    QCheckBox* ownRate_;
    QDoubleSpinBox* rate_;
    QProgressBar* progress_;
    QLabel *state_, *hint_, *memory_, *shownStep_;
    QWidget* timelinePart_;
    QSlider* timeline_;
    QToolButton *animate_, *live_, *export_;
    QTimer animation_;
    QTimer memoryPause_;                ///< since the last change of the recipe
    BackgroundTask memoryTask_;         ///< compiles the plans of a step
    std::optional<Recipe> memoryAsked_; ///< the recipe of the line about memory
};

} // namespace attn
