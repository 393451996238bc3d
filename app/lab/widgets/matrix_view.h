#pragma once

#include "app/figures/matrix_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows a matrix as a heatmap. The pointer marks a cell and the arrow keys select one; pointedAt() reports it.
class MatrixView : public FigureView<MatrixFigure> {
    Q_OBJECT

public:
    explicit MatrixView(QWidget* parent = nullptr);

    /// Shows a figure. Keeps the marked and selected cells if the new matrix contains them.
    void setFigure(MatrixFigure figure);
    void setSelected(std::optional<MatrixCell> cell);
    /// Limits the size of the cells until the next figure.
    void setLargestCell(double pixels) { change(figure_.largestCell, pixels); }
    /// Marks a cell that is under the pointer in another view.
    void setLinked(std::optional<MatrixCell> cell);

signals:
    /// @param cell none when the pointer leaves
    void pointedAt(const std::optional<attn::MatrixCell>& cell);
    /// A cell was chosen by a click or the arrow keys.
    void chosen(const attn::MatrixCell& cell);
    /// A double click or Return activated the current cell.
    void activated();

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

    double mostGrowth() const override { return growthForLabels(figure_.rows(), figure_.columns()); }

private:
    void point(std::optional<MatrixCell> cell);
    void describe();
};

} // namespace attn
