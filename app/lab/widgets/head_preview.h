#pragma once

#include "app/figures/heatmap_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows the head of a thumbnail large beside it, with its tokens as words. Lies over the window, takes no events, and
/// never covers the thumbnail.
class HeadPreview : public FigureView<HeatmapFigure> {
public:
    HeadPreview();

    /// @param thumbnail its area in the window
    void showBeside(const QRect& thumbnail, QWidget& window, const FigureTheme& theme, HeatmapFigure figure);

protected:
    double mostGrowth() const override;
    void paintEvent(QPaintEvent* event) override;
};

} // namespace attn
