#pragma once

#include "app/figures/lines_figure.h"
#include "app/figures/matrix_figure.h"
#include "app/figures/patch_overlay_figure.h"

#include <QStringList>

#include <memory>
#include <vector>

namespace attn {

/// The result of a lens, ready to draw: a picture under numbers, a matrix, lines and a table. Each may be empty.
struct LensAnswer {
    QString summary;
    MatrixFigure matrix;
    LinesFigure bars;
    QStringList columns;
    std::vector<QStringList> rows;
    /// For a matrix: a remark on each cell, shown after its number, row-major. Empty: no remarks.
    std::vector<QString> remarks;
};

/// The figures of a lens from top to bottom.
struct LensFigure : Figure {
    LensAnswer answer;
    PatchOverlayFigure
        overlay; ///< the numbers of one row of the matrix, or of the lines; empty: they lie on no picture

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Of the matrix, the lines or the table, the first that is not empty.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override;
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<LensFigure>(*this); }

private:
    std::vector<const Figure*> parts() const; ///< those that are not empty
};

/// @return the difference of two results, changed minus original, for the cells, places and names that both have.
/// Summaries and remarks show both texts where they differ.
/// @param after of the changed run  @param before of the original run
LensAnswer changeOf(const LensAnswer& after, const LensAnswer& before);
/// The same for the numbers over a picture.
PatchOverlayFigure changeOf(const PatchOverlayFigure& after, const PatchOverlayFigure& before);

} // namespace attn
