#pragma once

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QRectF>
#include <QString>

#include <memory>
#include <vector>

namespace attn {

/// A formula typeset from one line of text: "s(i,j) = q_i . k_j / sqrt(D)" has subscripts, a dot, a fraction bar and a
/// root. Vectors (q, k, v, x, y, z, o) and the matrices Q, K, V and W are bold, other letters are italic, numbers and
/// words upright. "x_i" and "x_{l+1}" have subscripts, "x^2" and "x^(a+b)" powers. "a / b", with spaces, has a fraction
/// bar; "i/b" keeps its slash. "sum_j" is the sign of sums, and names of Greek letters are letters.
class Formula {
public:
    /// A piece: text, a row of pieces, scripts, a fraction, a root, brackets or a sum.
    struct Piece;

    /// @param text any text; what is no formula is set as words
    /// @param hasVectors false: only letters with subscripts are vectors
    explicit Formula(const QString& text, bool hasVectors = true);

    /// @return the room that it takes, broken into lines at spaces where it is wider
    QSizeF sizeFor(double width, const QFont& font) const;
    /// Draws it from the upper left corner of a rectangle, broken to its width.
    void paint(QPainter& painter, const QRectF& area, const QFont& font, const QColor& colour) const;
    /// Rich text for tool tips, with fractions on one line.
    QString html() const;

private:
    std::vector<std::shared_ptr<const Piece>> words_; ///< without the spaces between them
};

} // namespace attn
