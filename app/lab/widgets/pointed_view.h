#pragma once

#include "app/figures/pointed_figure.h"

#include <QWidget>

#include <memory>

namespace attn {

/// Draws a figure of items and says what they are: under the pointer, or moved to by the arrow keys. A click chooses.
class PointedView : public QWidget {
    Q_OBJECT

public:
    /// @param name for screen readers
    explicit PointedView(const QString& name, QWidget* parent = nullptr);

    /// @param figure the items that are pointed at and chosen stay, unless it names others. Not null
    void setFigure(std::unique_ptr<PointedFigure> figure);
    void setTheme(const FigureTheme& theme);
    /// The frame of another view's choice.
    void setChosen(std::optional<int> item);
    const PointedFigure* figure() const { return figure_.get(); } ///< null before the first
    const FigureTheme& theme() const { return theme_; }

    QSize sizeHint() const override { return {420, 420}; }
    QSize minimumSizeHint() const override { return {140, 120}; }

signals:
    void pointedAt(std::optional<int> item);
    void chosen(int item);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
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
