#pragma once

#include "app/figures/weight_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows one weight matrix as a heatmap with its histogram. The tooltip reads the element under the pointer.
class WeightCanvas : public FigureView<WeightFigure> {
    Q_OBJECT

public:
    explicit WeightCanvas(QWidget* parent = nullptr);

    void setWeight(const std::shared_ptr<const WeightView>& weight);
    ExportNumbers numbers() const { return numbersOf(figure_); }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
};

} // namespace attn
