#pragma once

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QRectF>
#include <QString>

#include <memory>
#include <vector>

namespace attn {

/// A formula typeset from a line of text: "s(i,j) = q_i . k_j / sqrt(D)" gets subscripts, a dot, a fraction bar and a
/// root. Vectors (q, k, v, x, y, z, o) and the matrices Q, K, V and W are bold, other letters italic, numbers and words
/// upright. "x_i" and "x_{l+1}" have subscripts, "x^2" and "x^(a+b)" powers. "a / b", with spaces, has a fraction bar;
/// "i/b" keeps its slash. "sum_j" is a summation sign. Names of Greek letters become letters.
class Formula {
public:
    /// A piece: text, a row of pieces, scripts, a fraction, a root, brackets or a sum.
    struct Piece;

    /// @param text any text; parts that are no formula are set as words
    /// @param hasVectors false: only letters with subscripts are vectors
    explicit Formula(const QString& text, bool hasVectors = true);

    /// @return the size when it is broken at spaces to this width
    QSizeF sizeFor(double width, const QFont& font) const;
    /// Draws it from the upper left corner of a rectangle, broken to the rectangle's width.
    void paint(QPainter& painter, const QRectF& area, const QFont& font, const QColor& colour) const;
    /// Rich text for tool tips, with fractions on one line.
    QString html() const;

private:
    std::vector<std::shared_ptr<const Piece>> words_; ///< without the spaces between them
};

} // namespace attn
