#pragma once

#include "app/figures/figure.h"

#include "engine/inference/pattern_views.h"

#include <QCoreApplication>

#include <memory>
#include <vector>

namespace attn {

/// The arithmetic of one query-key cell from top to bottom: q·k term by term, scale, mask, softmax, and the cell's
/// contribution to the head's output. All numbers come from the explanation.
struct CellFigure : Figure {
    std::shared_ptr<const CellExplanation> explanation;
    std::shared_ptr<const CellExplanation> before; ///< the same cell in the original run, for comparison; may be null
    QString condition;                             ///< of the head, written after its name: " (removed)"
    double kept = 1;                               ///< share of its output that the head keeps
    HeadAggregate aggregate = HeadAggregate::None; ///< the aggregate that the heatmap shows instead of one head
    bool isInHeatmap = false;                      ///< the heatmap beside it shows the weight of this cell
    std::vector<QString> labels;                   ///< one per query
    std::vector<QString> keyLabels{};              ///< one per key; empty: the same as the queries' labels
    QString site{};                                ///< how figures name the site; empty: "L1"

    /// A sentence that this shows one head while the heatmap shows several; empty if both show one.
    QString aloneText() const;
    /// A sentence about which weight the device computed, and whether the heatmap shows it. @pre explanation is set
    QString deviceText() const;

    /// The height of the whole arithmetic at this width.
    double heightForWidth(double width, const FigureTheme& theme) const;
    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    QSizeF pageSize(const QSizeF& onScreen, const FigureTheme& theme) const override {
        return {onScreen.width(), heightForWidth(onScreen.width(), theme)};
    }
    /// Columns: step,index,value.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return explanation != nullptr; }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<CellFigure>(*this); }

    Q_DECLARE_TR_FUNCTIONS(attn::CellFigure)
};

} // namespace attn
