#include "app/lab/widgets/weight_canvas.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace attn {

WeightCanvas::WeightCanvas(QWidget* parent) : QWidget(parent), theme_(FigureTheme::light()) {
    setAccessibleName(tr("Weight matrix as a heatmap with its histogram"));
    setMinimumSize(200, 150);
}

void WeightCanvas::setWeight(const std::shared_ptr<const WeightView>& weight) {
    if (weight == figure_.weight) return;
    figure_.weight = weight;
    if (weight)
        setAccessibleDescription(tr("%1: mean %2, standard deviation %3, from %4 to %5")
                                     .arg(QString::fromStdString(weight->name))
                                     .arg(static_cast<double>(weight->mean))
                                     .arg(static_cast<double>(weight->standardDeviation))
                                     .arg(static_cast<double>(weight->minimum))
                                     .arg(static_cast<double>(weight->maximum)));
    update();
}

void WeightCanvas::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    update();
}

void WeightCanvas::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (figure_.weight) return figure_.paint(painter, rect(), theme_);
    painter.fillRect(rect(), theme_.background);
    painter.setPen(theme_.faint);
    painter.drawText(rect().adjusted(12, 12, -12, -12), static_cast<int>(Qt::AlignCenter) | Qt::TextWordWrap,
                     tr("Choose a parameter in the tree to see its values."));
}

bool WeightCanvas::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto element = figure_.weight ? figure_.elementAt(help->pos(), rect(), theme_) : std::nullopt;
    if (element)
        QToolTip::showText(help->globalPos(),
                           tr("Row %1, column %2 of the heatmap: %3")
                               .arg(element->row)
                               .arg(element->column)
                               .arg(static_cast<double>(element->value)),
                           this);
    else
        QToolTip::hideText();
    return true;
}

} // namespace attn
