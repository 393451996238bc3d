#pragma once

#include "app/figures/arcs_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows lines between words. While the pointer is on a word, only its lines are drawn; a click keeps them.
class ArcsView : public FigureView<ArcsFigure> {
    Q_OBJECT

public:
    explicit ArcsView(QWidget* parent = nullptr);

    void setFigure(ArcsFigure figure);

    int heightNeeded() const { return static_cast<int>(figure_.heightNeeded(leastTheme())); }
    QSize sizeHint() const override { return {400, heightNeeded()}; }
    QSize minimumSizeHint() const override { return {200, heightNeeded()}; }

signals:
    void tokenHovered(int token); ///< −1: none
    void tokenClicked(int token);

protected:
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    double mostGrowth() const override { return height() / std::max(1.0, figure_.heightNeeded(leastTheme())); }
    void point(std::optional<ArcsFigure::Place> place);

    std::optional<ArcsFigure::Place> pointed_;
};

} // namespace attn
