#pragma once

#include "app/figures/figure.h"

#include "engine/session/pattern_views.h"

#include <memory>
#include <vector>

namespace attn {

/// The arithmetic of one query-key cell from top to bottom: q·k term by term, scale, mask, softmax, and what the cell
/// adds to the head's output. Every number is the explanation's own.
struct CellFigure : Figure {
    std::shared_ptr<const CellExplanation> explanation;
    std::shared_ptr<const CellExplanation> before; ///< not null: the cell without the changes of the model, to compare
    std::vector<QString> labels;                   ///< of every token of the sequence

    /// Height that the whole arithmetic takes at a width.
    double heightForWidth(double width, const FigureTheme& theme) const;
    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// step,index,value
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
};

} // namespace attn
