#pragma once

#include <QScrollArea>

#include <vector>

class QGridLayout;

namespace attn {

/// Plots in two columns, or in one if two would be too narrow. The grid scrolls before any plot becomes so small that
/// it is cut off.
class PlotGrid : public QScrollArea {
    Q_OBJECT

public:
    explicit PlotGrid(const QString& id, QWidget* parent = nullptr);

    /// Shows these plots row by row, and hides the previous ones. They become children.
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
