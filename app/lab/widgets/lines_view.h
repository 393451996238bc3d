#pragma once

#include "app/figures/lines_figure.h"

#include <QWidget>

namespace attn {

/// Shows lines or bars, and a reading of the place under the pointer. The left and right arrow keys move to the next
/// place.
class LinesView : public QWidget {
    Q_OBJECT

public:
    explicit LinesView(QWidget* parent = nullptr);

    void setFigure(LinesFigure figure);
    void setTheme(const FigureTheme& theme);
    /// Marks a place that is under the pointer in another view.
    void setLinked(std::optional<int> index);
    const LinesFigure& figure() const { return figure_; }
    LinesFigure::Layout figureLayout() const { return figure_.layout(rect(), theme_); }
    /// @return the values at the place under the pointer; empty: no place
    QString reading() const;

    QSize sizeHint() const override { return {260, 180}; }
    QSize minimumSizeHint() const override { return {88, 70}; }

signals:
    void pointedAt(std::optional<int> index);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void point(std::optional<int> index);

    LinesFigure figure_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
