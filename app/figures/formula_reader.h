#pragma once

#include "app/figures/formula.h"

namespace attn {

struct Formula::Piece {
    enum class Kind {
        Text,
        Space,
        Row,
        Scripts,  ///< parts: base, subscript, superscript; the last two may be null
        Fraction, ///< parts: above and below the bar
        Root,     ///< one part
        Brackets, ///< one part; the text holds the opening and the closing sign
        Sum       ///< a summation sign, with an optional part below
    };
    enum class Style { Upright, Italic, Bold };

    Kind kind = Kind::Text;
    QString text{};
    Style style = Style::Upright;
    std::vector<std::shared_ptr<const Piece>> parts{};
};

std::shared_ptr<const Formula::Piece> textPiece(const QString& text,
                                                Formula::Piece::Style style = Formula::Piece::Style::Upright);

/// Reads a formula as Formula describes it. @return its words, without the spaces between them
std::vector<std::shared_ptr<const Formula::Piece>> readFormula(const QString& text, bool hasVectors);

} // namespace attn
