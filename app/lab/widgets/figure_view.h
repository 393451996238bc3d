#pragma once

#include "app/figures/figure.h"

#include <QPainter>
#include <QWidget>

namespace attn {

/// Draws a figure that has nothing to point at.
template <class T> class FigureView : public QWidget {
public:
    using QWidget::QWidget;

    void setFigure(T figure) {
        figure_ = std::move(figure);
        setAccessibleName(figure_.title);
        setAccessibleDescription(figure_.note);
        update();
    }
    void setTheme(const FigureTheme& theme) {
        theme_ = theme;
        update();
    }
    const T& figure() const { return figure_; }

    QSize sizeHint() const override { return {260, 200}; }
    QSize minimumSizeHint() const override { return {88, 70}; }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        figure_.paint(painter, rect(), theme_);
    }

private:
    T figure_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
