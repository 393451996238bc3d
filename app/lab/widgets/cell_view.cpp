#include "app/lab/widgets/cell_view.h"

#include <QPainter>

namespace attn {

CellView::CellView(QWidget* parent) : QWidget(parent), theme_(FigureTheme::light()) {
    setAccessibleName(tr("Arithmetic of the selected cell"));
    setMinimumWidth(220);
    fit();
}

void CellView::setExplanation(const std::shared_ptr<const CellExplanation>& explanation) {
    if (explanation == figure_.explanation) return;
    figure_.explanation = explanation;
    setAccessibleDescription(explanation ? tr("Weight of key %1 for query %2: %3").arg(explanation->key).arg(explanation->query).arg(static_cast<double>(explanation->probability)) : QString());
    fit();
}

void CellView::setLabels(std::vector<QString> labels) {
    if (labels == figure_.labels) return;
    figure_.labels = std::move(labels);
    fit();
}

void CellView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    fit();
}

void CellView::fit() {
    setMinimumHeight(static_cast<int>(figure_.heightForWidth(width(), theme_)));
    update();
}

void CellView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    figure_.paint(painter, rect(), theme_);
}

void CellView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

} // namespace attn
