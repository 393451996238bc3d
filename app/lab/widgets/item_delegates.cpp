#include "app/lab/widgets/item_delegates.h"

#include "app/figures/spacing.h"
#include "app/lab/common/theme.h"
#include "app/lab/models/candidate_model.h"
#include "app/lab/models/sample_model.h"

#include <QApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace attn {

void AnswerDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyleOptionViewItem background = option;
    initStyleOption(&background, index);
    background.text.clear();
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &background, painter, option.widget);
    const QStringList tokens = index.data(SampleModel::TokensRole).toStringList();
    const QVariantList wrong = index.data(SampleModel::WrongRole).toList();
    const bool isSelected = option.state & QStyle::State_Selected;
    painter->save();
    painter->setClipRect(option.rect);
    QRect place = option.rect.adjusted(4, 0, 0, 0);
    for (qsizetype i = 0; i < tokens.size(); ++i) {
        const bool isWrong = wrong.value(i).toBool();
        QFont font = option.font;
        font.setUnderline(isWrong);
        painter->setFont(font);
        place.setWidth(QFontMetrics(font).horizontalAdvance(tokens[i]));
        if (isWrong) painter->fillRect(place.adjusted(0, 2, 0, -2), QColor(220, 50, 50, 90));
        painter->setPen(option.palette.color(isSelected ? QPalette::HighlightedText : QPalette::Text));
        painter->drawText(place, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, tokens[i]);
        place.moveLeft(place.left() + place.width());
    }
    painter->restore();
}

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
    // The number lies over the bar and the background, so it has the text colour and never the bar's.
    const QVariant foreground = index.data(Qt::ForegroundRole);
    painter->setPen(isSelected             ? option.palette.color(QPalette::HighlightedText)
                    : foreground.isValid() ? foreground.value<QBrush>().color()
                                           : option.palette.color(QPalette::Text));
    painter->setFont(option.font);
    painter->drawText(option.rect.adjusted(4, 0, -6, 0), Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
}

QSize DescribedDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    constexpr int kCharacters = 52; ///< of a line of the sentence
    const QString name = index.data().toString(), sentence = index.data(Qt::AccessibleDescriptionRole).toString();
    const QFontMetrics large(option.font), small(textFont(TextSize::Caption));
    const int width = std::max(large.horizontalAdvance(name), kCharacters * large.averageCharWidth());
    const int below =
        sentence.isEmpty() ? 0 : small.boundingRect({0, 0, width, 0}, Qt::TextWordWrap, sentence).height();
    return {width + 2 * spacing::kGap, large.height() + below + 2 * spacing::kTight};
}

void DescribedDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyleOptionViewItem background = option;
    initStyleOption(&background, index);
    background.text.clear();
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &background, painter, option.widget);
    const QRect room = option.rect.adjusted(spacing::kGap, spacing::kTight, -spacing::kGap, -spacing::kTight);
    const int line = option.fontMetrics.height();
    painter->save();
    painter->setPen(
        option.palette.color(option.state & QStyle::State_Enabled ? QPalette::Active : QPalette::Disabled,
                             option.state & QStyle::State_Selected ? QPalette::HighlightedText : QPalette::Text));
    painter->setFont(background.font);
    painter->drawText(room, Qt::AlignLeft | Qt::AlignTop | Qt::TextSingleLine, index.data().toString());
    painter->setFont(textFont(TextSize::Caption));
    painter->drawText(room.adjusted(0, line, 0, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                      index.data(Qt::AccessibleDescriptionRole).toString());
    painter->restore();
}

} // namespace attn
