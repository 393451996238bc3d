#pragma once

#include <QScrollArea>

#include <vector>

class QGridLayout;

namespace attn {

/// Plots in two columns, or in one where two would be too narrow. No plot becomes so small that parts of it are cut
/// off: the grid scrolls instead.
class PlotGrid : public QScrollArea {
    Q_OBJECT

public:
    explicit PlotGrid(const QString& id, QWidget* parent = nullptr);

    /// Shows these plots, row by row, and hides those before. They become children.
    void setPlots(const std::vector<QWidget*>& plots);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();
    QSize fitMinimum(); ///< of every plot @return the least size of any plot

    QGridLayout* grid_;
    std::vector<QWidget*> plots_;
};

} // namespace attn
