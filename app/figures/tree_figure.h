#pragma once

#include "app/figures/figure.h"

#include <QCoreApplication>

#include <memory>
#include <vector>

namespace attn {

/// Words in a row, with an arrow from each word to its dependents, as in drawings of dependency trees.
struct TreeFigure : Figure {
    QString title, note;
    std::vector<QString> labels; ///< one for each word
    std::vector<int> parents;    ///< for each word its parent; the root is its own parent
    int leading = 0;             ///< words at the beginning that are not in the tree

    bool isEmpty() const { return parents.empty(); }
    /// The width at which all words fit.
    double widthNeeded(const FigureTheme& theme) const;
    QString summary() const; ///< the tree in words, for screen readers

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    QSizeF pageSize(const QSizeF& onScreen, const FigureTheme& theme) const override;
    /// Columns: number, word and parent, from 1, as in CoNLL-U; 0 is the root's parent.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<TreeFigure>(*this); }

private:
    QString labelOf(int word) const;
    int parentNumber(int word) const;

    Q_DECLARE_TR_FUNCTIONS(attn::TreeFigure)
};

} // namespace attn
