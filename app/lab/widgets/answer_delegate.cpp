#include "app/lab/widgets/answer_delegate.h"

#include "app/lab/models/sample_model.h"

#include <QApplication>
#include <QPainter>

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

} // namespace attn
