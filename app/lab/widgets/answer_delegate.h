#pragma once

#include <QStyledItemDelegate>

namespace attn {

/// Draws an answer token by token: wrong tokens on a red ground and underlined, so that they are told apart without
/// colours too.
class AnswerDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace attn
