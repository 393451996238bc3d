#pragma once

#include "app/figures/plot_figure.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/workbench/panel.h"

#include <QTimer>

class QCheckBox;
class QComboBox;
class QLabel;

namespace attn {

class EmptyState;
class PlotView;

/// Draws the metrics of every ticked training run against the step.
class CurvesPanel : public Panel {
    Q_OBJECT

public:
    explicit CurvesPanel(Workbench& bench, QWidget* parent = nullptr);

    /// Reads the curves that come with the open model.
    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    using ShownStep = TrainingBridge::ShownStep;
    /// The runs that are ticked, then those that come with the open model, if they train the same task.
    std::vector<const RunListModel::Run*> shownRuns() const;
    QString leftOut() const; ///< which runs the chart of the metric leaves out, in a sentence; empty: none
    std::optional<ShownStep> markedStep() const; ///< of a run among the curves
    std::vector<PlotFigure::Line> curvesOf(const QString& quantity) const;
    PlotFigure figureOf(const QString& quantity, bool isLogarithmic) const;
    void offerSubtasks();
    void refresh();

    EmptyState* empty_;
    QLabel* shownStep_;
    QComboBox* quantity_;
    QCheckBox *logarithmic_, *bundled_;
    QString modelPath_;                       ///< of the open model
    std::vector<RunListModel::Run> recorded_; ///< that come with it
    QStringList problems_;                    ///< of those
    PlotView *loss_, *other_;
    QTimer refresh_;
};

} // namespace attn
