#pragma once

#include "app/lab/panels/panel_context.h"
#include "engine/session/training_session.h"

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

/// The recipe, the buttons that train, and the timeline that scrubs every view through the run.
class TrainPanel : public Panel {
    Q_OBJECT

public:
    explicit TrainPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override { Q_UNUSED(snapshot) }

    /// What the form says; empty while its fields contradict each other.
    const std::optional<Recipe>& recipe() const;
    void playOrPause();
    void step();
    /// A new run of the same recipe, from its initial weights; the run so far stays in the list.
    void reset();

signals:
    void exportRequested();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeButtons();
    QWidget* makePace();
    QWidget* makeTimeline();
    void showTraining(const std::shared_ptr<const TrainingSnapshot>& snapshot);
    void openRun(const QString& folder);
    void start(bool plays);
    bool continues() const; ///< whether the form's recipe is that of the run at hand
    void refreshTimeline();
    void scrub(int position);
    void animate();
    void updateButtons();
    double pace() const;

    PanelContext& context_;
    std::shared_ptr<const TrainingSnapshot> training_;
    std::vector<std::filesystem::path> checkpoints_;
    uint64_t checkpointCount_ = 0;
    RecipeForm* form_;
    QPushButton *play_, *step_, *reset_;
    QSlider* pace_;
    QLabel* paceLabel_;
    QCheckBox* ownRate_;
    QDoubleSpinBox* rate_;
    QProgressBar* progress_;
    QLabel *state_, *hint_, *moment_;
    QSlider* timeline_;
    QToolButton *animate_, *live_, *export_;
    QTimer animation_;
};

} // namespace attn
