#include "app/lab/widgets/probability_delegate.h"

#include "app/lab/models/candidate_model.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace attn {

ProbabilityDelegate::ProbabilityDelegate(const QColor& colour, QObject* parent)
    : QStyledItemDelegate(parent), colour_(colour) {}

void ProbabilityDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const double probability = std::clamp(index.data(CandidateModel::ProbabilityRole).toDouble(), 0.0, 1.0);
    const bool isSelected = option.state & QStyle::State_Selected;
    if (isSelected) painter->fillRect(option.rect, option.palette.highlight());
    QRect bar = option.rect.adjusted(2, 2, -2, -2);
    bar.setWidth(static_cast<int>(std::lround(bar.width() * probability)));
    QColor fill = colour_;
    fill.setAlpha(150);
    painter->fillRect(bar, fill);
    // The number sits above bar and ground alike, so it takes the text colour, never the bar's.
    const QVariant foreground = index.data(Qt::ForegroundRole);
    painter->setPen(isSelected             ? option.palette.color(QPalette::HighlightedText)
                    : foreground.isValid() ? foreground.value<QBrush>().color()
                                           : option.palette.color(QPalette::Text));
    painter->setFont(option.font);
    painter->drawText(option.rect.adjusted(4, 0, -6, 0), Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
}

} // namespace attn
