#pragma once

#include "app/figures/matrix_figure.h"

#include <QWidget>

namespace attn {

/// A matrix as a heat map that says what stands in a cell: under the pointer, or moved to by the arrow keys.
class MatrixView : public QWidget {
    Q_OBJECT

public:
    explicit MatrixView(QWidget* parent = nullptr);

    /// Takes over what is shown; the cells that are pointed at and selected stay where there still are such.
    void setFigure(MatrixFigure figure);
    void setTheme(const FigureTheme& theme);
    void setSelected(std::optional<Cell> cell);
    /// Marks a cell that is pointed at in another view.
    void setLinked(std::optional<Cell> cell);
    const MatrixFigure& figure() const { return figure_; }
    MatrixFigure::Layout figureLayout() const { return figure_.layout(rect(), theme_); }

    QSize sizeHint() const override { return {260, 220}; }
    QSize minimumSizeHint() const override { return {88, 88}; }

signals:
    /// @param cell none when the pointer has left
    void pointedAt(const std::optional<attn::Cell>& cell);
    /// A click, or the arrow keys.
    void chosen(const attn::Cell& cell);
    /// A double click or Return.
    void activated();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void point(std::optional<Cell> cell);

    MatrixFigure figure_;
    FigureTheme theme_;
};

} // namespace attn
