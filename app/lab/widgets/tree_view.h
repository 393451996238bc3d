#pragma once

#include "app/figures/tree_figure.h"
#include "app/lab/widgets/figure_view.h"

#include <cmath>

namespace attn {

/// Shows a dependency tree, at least as wide as its words.
class TreeView : public FigureView<TreeFigure> {
public:
    using FigureView::FigureView;
    QSize minimumSizeHint() const override {
        const QSize least = FigureView::minimumSizeHint();
        return {std::max(least.width(), static_cast<int>(std::ceil(figure_.widthNeeded(leastTheme())))),
                least.height()};
    }

protected:
    double mostGrowth() const override { return width() / std::max(1.0, figure_.widthNeeded(leastTheme())); }
};

} // namespace attn
