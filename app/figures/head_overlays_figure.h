#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "app/figures/pointed_figure.h"

#include <QCoreApplication>

#include <memory>
#include <utility>
#include <vector>

namespace attn {

/// One overlay per head with the patches that a query attends to, layers from top to bottom. Items number the heads of
/// layer 0 first. A layer with fewer heads than others has items that are not drawn.
struct HeadOverlaysFigure : PointedFigure {
    QImage picture;                                      ///< below all overlays
    std::vector<std::vector<PatchOverlayFigure>> layers; ///< [layers][heads of the layer]; none if it forms no pattern
    int heads = 0;                                       ///< the largest number in a layer
    std::vector<float> gates;                            ///< by item, drawn as bars; empty: not drawn

    bool has(int item) const;
    QRectF overlayRect(int item, const QRectF& area, const FigureTheme& theme) const;

    int items() const override { return static_cast<int>(layers.size()) * heads; }
    std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const override;
    int moved(int item, int right, int down) const override;
    QString reading(int item) const override;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: layer,head,row,column,weight.
    QString csv() const override;
    /// One array per layer: [heads, rows, columns].
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return items() > 0; }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<HeadOverlaysFigure>(*this); }

private:
    void paintGate(QPainter& painter, int item, const QRectF& at, const FigureTheme& theme) const;
    const PatchOverlayFigure& overlay(int item) const {
        return layers[static_cast<size_t>(item / heads)][static_cast<size_t>(item % heads)];
    }

    Q_DECLARE_TR_FUNCTIONS(attn::HeadOverlaysFigure)
};

} // namespace attn
