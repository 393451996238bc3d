#pragma once

#include "app/figures/pointed_figure.h"
#include "app/lab/widgets/figure_view.h"

#include <memory>

namespace attn {

/// Shows a figure with items, and a reading of the item under the pointer. A click or the arrow keys choose an item.
class PointedView : public FigureWidget {
    Q_OBJECT

public:
    /// @param name for screen readers
    explicit PointedView(const QString& name, QWidget* parent = nullptr);

    /// @param figure not null. Keeps the item under the pointer and the chosen item, unless the figure sets them.
    void setFigure(std::unique_ptr<PointedFigure> figure);
    void setTheme(const FigureTheme& theme);
    /// Frames the item that was chosen in another view.
    void setChosen(std::optional<int> item);
    const PointedFigure* figure() const { return figure_.get(); } ///< null until setFigure() is called
    std::shared_ptr<const Figure> drawn() const override;
    const FigureTheme& theme() const override { return theme_; }

    QSize sizeHint() const override { return {420, 420}; }
    QSize minimumSizeHint() const override { return {140, 120}; }

signals:
    void pointedAt(std::optional<int> item);
    void chosen(int item);
    /// The user double-clicked an item, or pressed Return or Space on the chosen one.
    void activated(int item);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void point(std::optional<int> item);
    void describe();

    std::unique_ptr<PointedFigure> figure_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
