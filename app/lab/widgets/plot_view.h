#pragma once

#include "app/figures/plot_figure.h"
#include "app/lab/widgets/figure_view.h"

#include <QResizeEvent>

#include <cmath>
#include <utility>

namespace attn {

/// Draws a plot. Asks for enough height for readable lines below a legend of any length.
class PlotView : public FigureView<PlotFigure> {
public:
    using FigureView::FigureView;

    void setFigure(PlotFigure figure) {
        FigureView::setFigure(std::move(figure));
        updateGeometry();
    }

    QSize minimumSizeHint() const override {
        constexpr double kLeastPlot = 7.5; // in text sizes: about 95 pixels
        const FigureTheme least = leastTheme();
        const QRectF page(0, 0, width(), 1000);
        const double around = page.height() - figure_.plotArea(page, least).height();
        return {FigureView::minimumSizeHint().width(), static_cast<int>(std::ceil(around + kLeastPlot * least.size))};
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        if (event->size().width() != event->oldSize().width()) updateGeometry(); // the legend may be higher or lower
    }
};

} // namespace attn
