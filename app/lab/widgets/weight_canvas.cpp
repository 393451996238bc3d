#include "app/lab/widgets/weight_canvas.h"

#include "app/lab/widgets/tool_tip.h"

namespace attn {

WeightCanvas::WeightCanvas(QWidget* parent) : FigureView(parent, {}, {}) {
    setAccessibleName(tr("Weight matrix as a heatmap with its histogram"));
    setMinimumSize(200, 150);
}

void WeightCanvas::setWeight(const std::shared_ptr<const WeightView>& weight) {
    if (weight == figure_.weight) return;
    figure_.weight = weight;
    if (weight)
        setAccessibleDescription(tr("%1: mean %2, standard deviation %3, from %4 to %5")
                                     .arg(QString::fromStdString(weight->name),
                                          QString::number(static_cast<double>(weight->mean)),
                                          QString::number(static_cast<double>(weight->standardDeviation)),
                                          QString::number(static_cast<double>(weight->minimum)),
                                          QString::number(static_cast<double>(weight->maximum))));
    update();
}

void WeightCanvas::paintEvent(QPaintEvent* event) {
    if (figure_.weight) return FigureView::paintEvent(event);
    QPainter painter(this);
    painter.fillRect(rect(), theme_.background);
    painter.setPen(theme_.faint);
    painter.drawText(rect().adjusted(12, 12, -12, -12), static_cast<int>(Qt::AlignCenter) | Qt::TextWordWrap,
                     tr("Choose a parameter in the tree to see its values."));
}

bool WeightCanvas::event(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        const auto element = figure_.weight ? figure_.elementAt(point, rect(), shownTheme()) : std::nullopt;
        return element ? tr("Row %1, column %2 of the heatmap: %3")
                             .arg(element->row)
                             .arg(element->column)
                             .arg(static_cast<double>(element->value))
                       : QString();
    };
    return showTip(this, event, textAt) || QWidget::event(event);
}

} // namespace attn
