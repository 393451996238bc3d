#pragma once

#include <QStyledItemDelegate>

namespace attn {

/// Draws an answer token by token. Wrong tokens have a red background and are underlined, which also helps readers who
/// do not see the colour.
class AnswerDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace attn
