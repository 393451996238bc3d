#pragma once

#include "app/figures/cell_figure.h"

#include <QWidget>

namespace attn {

/// Shows the arithmetic of one cell. Its height depends on its width: put it into a scroll area.
class CellView : public QWidget {
    Q_OBJECT

public:
    explicit CellView(QWidget* parent = nullptr);

    /// @param before the same cell in the original run, as in CellFigure::before; may be null
    void setExplanation(const std::shared_ptr<const CellExplanation>& explanation,
                        const std::shared_ptr<const CellExplanation>& before = nullptr);
    void setLabels(std::vector<QString> labels);
    void setTheme(const FigureTheme& theme);
    const CellFigure& figure() const { return figure_; }

    int heightForWidth(int width) const override;
    QSize sizeHint() const override { return {360, 200}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void refresh();

    CellFigure figure_;
    FigureTheme theme_;
};

} // namespace attn
