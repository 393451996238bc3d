#pragma once

#include <QStyledItemDelegate>

namespace attn {

/// Draws an answer token by token. Wrong tokens have a red background and are underlined, for readers who cannot see
/// the colour.
class AnswerDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// Draws a probability (CandidateModel::ProbabilityRole) as a bar behind its number.
class ProbabilityDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    ProbabilityDelegate(const QColor& colour, QObject* parent);
    void setColour(const QColor& colour) { colour_ = colour; }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    QColor colour_;
};

/// Draws an entry with a sentence about it (Qt::AccessibleDescriptionRole) in small lines below its name.
class DescribedDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace attn
