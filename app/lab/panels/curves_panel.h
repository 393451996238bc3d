#pragma once

#include "app/lab/workbench/panel_context.h"

#include <QTimer>

class QCheckBox;
class QChart;
class QChartView;
class QComboBox;
class QLabel;

namespace attn {

/// Draws the metrics of every ticked training run against the step.
class CurvesPanel : public Panel {
    Q_OBJECT

public:
    explicit CurvesPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override { Q_UNUSED(snapshot) }
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Curve {
        QString name;
        QColor colour;
        bool isDashed;
        QList<QPointF> points;
    };
    QChartView* makeChart(const char* name, const QString& title);
    std::vector<Curve> curvesOf(const QString& quantity) const;
    void draw(QChartView& view, const QString& quantity, bool isLogarithmic);
    void refresh();
    void showTheme(ThemeId theme);

    PanelContext& context_;
    QLabel* empty_;
    QComboBox* quantity_;
    QCheckBox* logarithmic_;
    QChartView *loss_, *other_;
    QTimer refresh_;
};

} // namespace attn
