#pragma once

#include "app/figures/weight_figure.h"

#include <QWidget>

namespace attn {

/// Shows one weight matrix as a heatmap with its histogram. The tooltip reads the element under the pointer.
class WeightCanvas : public QWidget {
    Q_OBJECT

public:
    explicit WeightCanvas(QWidget* parent = nullptr);

    void setWeight(const std::shared_ptr<const WeightView>& weight);
    void setTheme(const FigureTheme& theme);
    ExportNumbers numbers() const { return numbersOf(figure_); }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    WeightFigure figure_;
    FigureTheme theme_;
};

} // namespace attn
