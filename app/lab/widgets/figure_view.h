#pragma once

#include "app/figures/figure.h"

#include <QCoreApplication>
#include <QPainter>
#include <QWidget>

#include <memory>

namespace attn {

/// A widget that draws a figure. An export draws the figure on a separate page.
class FigureWidget : public QWidget {
public:
    using QWidget::QWidget;
    /// The figure without the marks of the pointer; null if there is none.
    virtual std::shared_ptr<const Figure> drawn() const = 0;
    virtual const FigureTheme& theme() const = 0;
};

/// Draws a figure. Views that react to the pointer inherit it.
template <class T> class FigureView : public FigureWidget {
public:
    /// @param preferred, least sizes; invalid: the default of a widget
    explicit FigureView(QWidget* parent = nullptr, QSize preferred = {260, 200}, QSize least = {88, 70})
        : FigureWidget(parent), preferred_(preferred), least_(least) {
        setAccessibleDescription(QCoreApplication::translate("attn::FigureView", "Nothing to show yet."));
    }

    void setFigure(T figure) {
        figure_ = std::move(figure);
        setAccessibleName(figure_.title);
        if constexpr (requires { figure_.summary(); })
            setAccessibleDescription(figure_.summary());
        else if (!figure_.note.isEmpty())
            setAccessibleDescription(figure_.note);
        update();
    }
    void setTheme(const FigureTheme& theme) {
        theme_ = theme;
        updateGeometry();
        update();
    }
    const T& figure() const { return figure_; }
    std::shared_ptr<const Figure> drawn() const override { return figure_.copy(); }
    const FigureTheme& theme() const override { return theme_; }
    /// The positions of the figure's parts. Only for a figure that has a layout.
    auto figureLayout() const { return figure_.layout(rect(), theme_); }

    QSize sizeHint() const override { return preferred_; }
    QSize minimumSizeHint() const override { return least_; }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        figure_.paint(painter, rect(), theme_);
    }
    /// Changes a part of the figure. Draws the figure again if the part differs.
    template <class Part> void change(Part& part, const Part& next) {
        if (part == next) return;
        part = next;
        update();
    }

    T figure_;
    FigureTheme theme_ = FigureTheme::light();

private:
    QSize preferred_, least_;
};

} // namespace attn
