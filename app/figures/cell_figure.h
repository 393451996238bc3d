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
    QString condition;                             ///< of the head, follows its name: " (removed)"
    double kept = 1;                               ///< share of its output that the head keeps
    HeadAggregate aggregate = HeadAggregate::None; ///< what the heatmap beside it shows in place of the one head
    bool isInHeatmap = false;                      ///< the heatmap beside it shows the weight of this cell
    std::vector<QString> labels;                   ///< one per query
    std::vector<QString> keyLabels{};              ///< one per key; empty: those of the queries
    QString site{};                                ///< how figures name the site; empty: "L1"

    /// Says that the heatmap shows several heads and the arithmetic one; empty: it shows the one.
    QString aloneText() const;
    /// Says which weight the device computed, and whether the heatmap shows it. Needs an explanation.
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
