#include "app/lab/widgets/plot_grid.h"

#include "app/lab/widgets/widget_makers.h"

#include <QGridLayout>

namespace attn {
namespace {

constexpr int kLeastLetters = 30, kLeastLines = 14; ///< size of a plot

} // namespace

PlotGrid::PlotGrid(const QString& id, QWidget* parent) : QScrollArea(parent) {
    setObjectName(id);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    auto* content = new QWidget;
    grid_ = layoutOf<QGridLayout>(content);
    grid_->setSpacing(spacing::kTight);
    setWidget(content);
}

void PlotGrid::setPlots(const std::vector<QWidget*>& plots) {
    if (plots == plots_) { // hiding and showing them would lay out the panel again
        fitMinimum();
        return;
    }
    for (QWidget* plot : plots_) plot->hide();
    plots_ = plots;
    arrange();
    for (QWidget* plot : plots_) plot->show();
}

QSize PlotGrid::fitMinimum() {
    const QSize least(fontMetrics().averageCharWidth() * kLeastLetters, fontMetrics().lineSpacing() * kLeastLines);
    for (QWidget* plot : plots_) plot->setMinimumSize(least.expandedTo(plot->minimumSizeHint()));
    return least;
}

void PlotGrid::arrange() {
    const QSize least = fitMinimum();
    const int count = static_cast<int>(plots_.size());
    const int columns = count <= 1 || viewport()->width() < 2 * least.width() + spacing::kTight ? 1 : 2;
    for (int at = 0; at < count; ++at) {
        QWidget* plot = plots_[static_cast<size_t>(at)];
        grid_->removeWidget(plot);
        const bool isLastAlone = at + 1 == count && at % columns == 0;
        grid_->addWidget(plot, at / columns, at % columns, 1, isLastAlone ? columns : 1);
    }
}

void PlotGrid::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    arrange();
}

} // namespace attn
