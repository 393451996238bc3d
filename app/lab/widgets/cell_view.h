#pragma once

#include "app/figures/cell_figure.h"
#include "app/lab/widgets/figure_view.h"

namespace attn {

/// Shows the arithmetic of one cell. Its height depends on its width: put it into a scroll area.
class CellView : public FigureView<CellFigure> {
    Q_OBJECT

public:
    explicit CellView(QWidget* parent = nullptr);

    /// @param before the same cell in the original run, as in CellFigure::before; may be null
    void setExplanation(const std::shared_ptr<const CellExplanation>& explanation,
                        const std::shared_ptr<const CellExplanation>& before = nullptr);
    void setCondition(const QString& condition, double kept);   ///< as in CellFigure
    void setHeatmap(HeadAggregate aggregate, bool isInHeatmap); ///< as in CellFigure
    void setLabels(std::vector<QString> queries, std::vector<QString> keys, const QString& site = {});

    int heightForWidth(int width) const override;

protected:
    double mostGrowth() const override { return 1; } // its height follows from its width and its text

private:
    void refresh();
};

} // namespace attn
