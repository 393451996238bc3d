#pragma once

#include "app/figures/lines_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows lines or bars, and a reading of the place under the pointer. The left and right arrow keys move to the next
/// place.
class LinesView : public FigureView<LinesFigure> {
    Q_OBJECT

public:
    explicit LinesView(QWidget* parent = nullptr);

    void setFigure(LinesFigure figure);
    /// Marks a place that is under the pointer in another view.
    void setLinked(std::optional<int> index);
    /// @return the values at the place under the pointer; empty: no place
    QString reading() const;

signals:
    void pointedAt(std::optional<int> index);

protected:
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void point(std::optional<int> index);
    void describe();
};

} // namespace attn
