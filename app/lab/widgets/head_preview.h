#pragma once

#include "app/figures/heatmap_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows the head of a thumbnail large beside it, with its tokens as words. Lies over the thumbnails, takes no events
/// of the pointer, and never covers its own thumbnail or what lies around the thumbnails.
class HeadPreview : public FigureView<HeatmapFigure> {
    Q_OBJECT

public:
    /// @param thumbnails the view that it lies over
    explicit HeadPreview(QWidget& thumbnails);

    /// Shows a head in the visible part of the thumbnails; hides where a thumbnail leaves no room for a larger one.
    /// @param thumbnail its area in the view
    void showBeside(const QRect& thumbnail, const FigureTheme& theme, HeatmapFigure figure);

signals:
    void closeAsked(); ///< by Escape, wherever the keyboard focus is

protected:
    double mostGrowth() const override;
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace attn
