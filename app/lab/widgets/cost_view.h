#pragma once

#include "app/figures/plot_figure.h"
#include "app/lab/widgets/figure_view.h"
#include "engine/session/cost_session.h"

#include <array>

class QLabel;
class QProgressBar;
class QPushButton;

namespace attn {

/// Plots the cost of attentions against the length, beside full and linear attention: pairs, operations and memory by
/// formula, and time after it is measured.
class CostView : public QWidget {
    Q_OBJECT

public:
    explicit CostView(QWidget* parent = nullptr);

    /// @param specs of the playground: A, or A and B  @param width of a head
    void setSpecs(const std::vector<AttentionSpec>& specs, int64_t width);
    /// @return the query for the session. It asks only for formulas until the user presses Measure.
    const CostQuery& query() const { return query_; }
    void showCosts(const std::shared_ptr<const CostSnapshot>& snapshot);
    void setTheme(const FigureTheme& theme);

    /// @return the plot to export: the time if it was measured, otherwise the operations
    const Figure& current() const;

signals:
    void queryChanged();
    void cancelled();

private:
    void refresh();

    CostQuery query_;
    std::shared_ptr<const CostSnapshot> formulas_, measured_; ///< of the current specs; null until computed
    std::array<FigureView<PlotFigure>*, 4> plots_;            ///< pairs, operations, memory, time
    QLabel *legend_, *remark_;
    QPushButton* run_;
    QProgressBar* progress_;
};

} // namespace attn
