#pragma once

#include "app/figures/drawing.h"
#include "app/figures/figure.h"

#include <QCoreApplication>
#include <QPainter>
#include <QWidget>

#include <algorithm>
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
    /// The theme of the drawing: text grows with the view, and cells fill it.
    FigureTheme shownTheme() const { return theme_.inRoom(size(), mostGrowth()); }
    /// The positions of the figure's parts. Only for a figure that has a layout.
    auto figureLayout() const { return figure_.layout(rect(), shownTheme()); }

    QSize sizeHint() const override { return preferred_; }
    QSize minimumSizeHint() const override { return least_; }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        figure_.paint(painter, rect(), shownTheme());
    }
    /// How far text may grow before the words of the figure lose their room.
    virtual double mostGrowth() const { return FigureTheme::kMostGrowth; }
    /// The growth of text for so many labels down and across.
    double growthForLabels(double down, double across) const {
        const double room = std::min(height() / std::max(1.0, down), width() / std::max(1.0, across));
        return kLabelShare * room / smallLine(leastTheme());
    }
    /// The theme for sizes that the view asks for: text has its least size on screen.
    FigureTheme leastTheme() const { return theme_.inRoom({}); }
    /// Changes a part of the figure. Draws the figure again if the part differs.
    template <class Part> void change(Part& part, const Part& next) {
        if (part == next) return;
        part = next;
        update();
    }

    T figure_;
    FigureTheme theme_ = FigureTheme::light();

private:
    static constexpr double kLabelShare = 0.8; ///< of a view beside its title and the labels of the other side
    QSize preferred_, least_;
};

} // namespace attn
