#include "app/figures/formula.h"

#include "app/figures/formula_reader.h"

#include <QFontInfo>
#include <QFontMetricsF>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

using Piece = Formula::Piece;
using Pieces = std::vector<std::shared_ptr<const Piece>>;

constexpr double kScript = 0.72; ///< size of scripts relative to the base

/// The extent of a piece around its baseline.
struct Extent {
    double width = 0, above = 0, below = 0;
    double height() const { return above + below; }
};

QFont scaled(const QFont& font, double factor) {
    QFont result = font;
    result.setPixelSize(std::max(6, static_cast<int>(std::lround(font.pixelSize() * factor))));
    return result;
}

QFont styled(QFont font, Piece::Style style) {
    font.setItalic(style == Piece::Style::Italic);
    font.setBold(style == Piece::Style::Bold || font.bold());
    return font;
}

double thin(const QFont& font) { return std::max(1.0, font.pixelSize() * 0.16); }
/// The height of fraction bars above the baseline.
double axis(const QFont& font) { return QFontMetricsF(font).xHeight() * 0.55; }

/// Measures pieces, and draws them if it has a painter.
class FormulaSetter {
public:
    FormulaSetter(QPainter* painter, const QColor& colour) : painter_(painter), colour_(colour) {}

    Extent row(const Pieces& pieces, QPointF at, const QFont& font) {
        Extent all;
        for (const auto& piece : pieces) {
            const Extent each = set(*piece, {at.x() + all.width, at.y()}, font);
            all = {all.width + each.width, std::max(all.above, each.above), std::max(all.below, each.below)};
        }
        return all;
    }

    /// @param at left end of the baseline
    Extent set(const Piece& piece, QPointF at, const QFont& font) {
        switch (piece.kind) {
        case Piece::Kind::Text:
            return text(piece.text, at, styled(font, piece.style));
        case Piece::Kind::Space:
            return {font.pixelSize() * 0.3, 0, 0};
        case Piece::Kind::Row:
            return row(piece.parts, at, font);
        case Piece::Kind::Scripts:
            return scripts(piece, at, font);
        case Piece::Kind::Fraction:
            return fraction(piece, at, font);
        case Piece::Kind::Root:
            return root(piece, at, font);
        case Piece::Kind::Brackets:
            return brackets(piece, at, font);
        case Piece::Kind::Sum:
            return sum(piece, at, font);
        }
        return {};
    }

private:
    Extent text(const QString& text, QPointF at, const QFont& font) {
        const QFontMetricsF metrics(font);
        if (painter_) {
            painter_->setFont(font);
            painter_->setPen(colour_);
            painter_->drawText(at, text);
        }
        return {metrics.horizontalAdvance(text), metrics.ascent() * 0.85, metrics.descent()};
    }

    Extent measured(const Piece& piece, const QFont& font) {
        return FormulaSetter(nullptr, colour_).set(piece, {}, font);
    }

    Extent scripts(const Piece& piece, QPointF at, const QFont& font) {
        Extent all = set(*piece.parts[0], at, font);
        const QFont small = scaled(font, kScript);
        const double x = at.x() + all.width + 0.5, rise = std::max(all.above * 0.5, all.above - axis(font) * 1.4),
                     drop = std::max(QFontMetricsF(font).descent() * 0.6, all.below * 0.7);
        double width = 0;
        if (piece.parts[1]) {
            const Extent low = set(*piece.parts[1], {x, at.y() + drop}, small);
            width = low.width;
            all.below = std::max(all.below, low.below + drop);
        }
        if (piece.parts[2]) {
            const Extent high = set(*piece.parts[2], {x, at.y() - rise}, small);
            width = std::max(width, high.width);
            all.above = std::max(all.above, high.above + rise);
        }
        all.width += width + 1;
        return all;
    }

    Extent fraction(const Piece& piece, QPointF at, const QFont& font) {
        const QFont inner = scaled(font, 0.92);
        const Extent top = measured(*piece.parts[0], inner), bottom = measured(*piece.parts[1], inner);
        const double gap = thin(font), width = std::max(top.width, bottom.width) + 2 * gap, bar = at.y() - axis(font);
        set(*piece.parts[0], {at.x() + (width - top.width) / 2, bar - gap - top.below}, inner);
        set(*piece.parts[1], {at.x() + (width - bottom.width) / 2, bar + gap + bottom.above}, inner);
        line({at.x(), bar}, {at.x() + width, bar}, font);
        return {width + gap, axis(font) + gap + top.height(), bottom.height() + gap - axis(font)};
    }

    Extent root(const Piece& piece, QPointF at, const QFont& font) {
        const double hook = font.pixelSize() * 0.55, gap = thin(font);
        const Extent inner = set(*piece.parts[0], {at.x() + hook + gap, at.y()}, font);
        const double top = at.y() - inner.above - gap, bottom = at.y() + inner.below;
        if (painter_) {
            QPainterPath path(QPointF(at.x(), bottom - inner.height() * 0.42));
            path.lineTo(at.x() + hook * 0.25, bottom - inner.height() * 0.5);
            path.lineTo(at.x() + hook * 0.6, bottom);
            path.lineTo(at.x() + hook, top);
            path.lineTo(at.x() + hook + inner.width + 2 * gap, top);
            stroke(path, font);
        }
        return {hook + inner.width + 3 * gap, inner.above + 2 * gap, inner.below};
    }

    /// Brackets grow with their content.
    Extent brackets(const Piece& piece, QPointF at, const QFont& font) {
        const Extent inner = measured(*piece.parts[0], font), plain = measured(*textPiece(QStringLiteral("(")), font);
        const bool isTall = inner.height() > 1.25 * plain.height();
        const double side = isTall ? font.pixelSize() * 0.36 : 0;
        const auto bracket = [&](const QString& sign, double x, bool isLeft) {
            if (!isTall) return text(sign, {x, at.y()}, font).width;
            if (painter_ && !sign.isEmpty())
                stroke(tallBracket(sign, QRectF(x, at.y() - inner.above, side, inner.height()), isLeft), font);
            return side;
        };
        const double left = bracket(piece.text.left(1), at.x(), true);
        set(*piece.parts[0], {at.x() + left, at.y()}, font);
        const double right = bracket(piece.text.mid(1), at.x() + left + inner.width, false);
        return {left + inner.width + right, std::max(inner.above, plain.above), std::max(inner.below, plain.below)};
    }

    static QPainterPath tallBracket(const QString& sign, const QRectF& box, bool isLeft) {
        const double inside = isLeft ? box.right() - 1 : box.left() + 1,
                     outside = isLeft ? box.left() + 1 : box.right() - 1;
        const QChar shape = sign[0];
        QPainterPath path;
        if (shape == u'|') {
            path.moveTo(box.center().x(), box.top());
            path.lineTo(box.center().x(), box.bottom());
        } else if (shape == u'(' || shape == u')') {
            path.moveTo(inside, box.top());
            path.cubicTo(outside, box.top() + box.height() * 0.25, outside, box.bottom() - box.height() * 0.25, inside,
                         box.bottom());
        } else { // square brackets, or ⌊floors⌋ without upper ends
            const bool isFloor = shape == u'⌊' || shape == u'⌋';
            path.moveTo(isFloor ? outside : inside, box.top());
            path.lineTo(outside, box.top());
            path.lineTo(outside, box.bottom());
            path.lineTo(inside, box.bottom());
        }
        return path;
    }

    /// The sign of a sum with its index below.
    Extent sum(const Piece& piece, QPointF at, const QFont& font) {
        const QFont large = scaled(font, 1.25);
        const QString sign = QStringLiteral("Σ");
        const Extent own = FormulaSetter(nullptr, colour_).text(sign, {}, large);
        const QFont small = scaled(font, kScript);
        const Extent index = piece.parts.empty() ? Extent() : measured(*piece.parts[0], small);
        const double width = std::max(own.width, index.width), y = at.y() + own.below * 0.4;
        text(sign, {at.x() + (width - own.width) / 2, y}, large);
        if (!piece.parts.empty())
            set(*piece.parts[0], {at.x() + (width - index.width) / 2, y + own.below * 0.3 + index.above}, small);
        return {width + thin(font), own.above, own.below * 0.7 + index.height()};
    }

    void line(QPointF from, QPointF to, const QFont& font) {
        if (!painter_) return;
        QPainterPath path(from);
        path.lineTo(to);
        stroke(path, font);
    }
    void stroke(const QPainterPath& path, const QFont& font) {
        painter_->save();
        painter_->setRenderHint(QPainter::Antialiasing);
        painter_->setBrush(Qt::NoBrush);
        painter_->setPen(QPen(colour_, std::max(1.0, font.pixelSize() / 13.0)));
        painter_->drawPath(path);
        painter_->restore();
    }

    QPainter* painter_;
    QColor colour_;
};

/// A font with a size in pixels, which all measures need.
QFont inPixels(const QFont& font) {
    QFont result = font;
    if (font.pixelSize() <= 0) result.setPixelSize(std::max(1, QFontInfo(font).pixelSize()));
    return result;
}

/// Sets words in lines. @return the size that they take
QSizeF setLines(QPainter* painter, const Pieces& words, const QRectF& area, const QFont& given, const QColor& colour) {
    const QFont font = inPixels(given);
    const double space = QFontMetricsF(font).horizontalAdvance(u' ') + 1, leading = thin(font);
    double y = area.top(), widest = 0;
    for (size_t begin = 0; begin < words.size();) {
        Extent line;
        size_t end = begin;
        for (; end < words.size(); ++end) {
            const Extent each = FormulaSetter(nullptr, colour).set(*words[end], {}, font);
            const double width = line.width + (end > begin ? space : 0) + each.width;
            if (end > begin && width > area.width()) break;
            line = {width, std::max(line.above, each.above), std::max(line.below, each.below)};
        }
        double x = area.left();
        if (painter)
            for (size_t word = begin; word < end; ++word)
                x += FormulaSetter(painter, colour).set(*words[word], {x, y + line.above}, font).width + space;
        widest = std::max(widest, line.width);
        y += line.height() + leading;
        begin = end;
    }
    return {widest, y - area.top()};
}

QString htmlOf(const Piece& piece) {
    const auto part = [&](size_t at) { return htmlOf(*piece.parts[at]); };
    const auto grouped = [&](size_t at) {
        const bool isShort = piece.parts[at]->kind != Piece::Kind::Row || piece.parts[at]->parts.size() < 2;
        return isShort ? part(at) : QStringLiteral("(%1)").arg(part(at));
    };
    QString all;
    switch (piece.kind) {
    case Piece::Kind::Text:
        all = piece.text.toHtmlEscaped();
        if (piece.style == Piece::Style::Italic) return QStringLiteral("<i>%1</i>").arg(all);
        return piece.style == Piece::Style::Bold ? QStringLiteral("<b>%1</b>").arg(all) : all;
    case Piece::Kind::Space:
        return QStringLiteral(" ");
    case Piece::Kind::Row:
        for (size_t at = 0; at < piece.parts.size(); ++at) all += part(at);
        return all;
    case Piece::Kind::Scripts:
        all = part(0);
        if (piece.parts[1]) all += QStringLiteral("<sub>%1</sub>").arg(part(1));
        if (piece.parts[2]) all += QStringLiteral("<sup>%1</sup>").arg(part(2));
        return all;
    case Piece::Kind::Fraction:
        return grouped(0) + QStringLiteral(" / ") + grouped(1);
    case Piece::Kind::Root:
        return QStringLiteral("√") + grouped(0);
    case Piece::Kind::Brackets:
        return piece.text.left(1) + part(0) + piece.text.mid(1);
    case Piece::Kind::Sum:
        return QStringLiteral("Σ") + (piece.parts.empty() ? QString() : QStringLiteral("<sub>%1</sub> ").arg(part(0)));
    }
    return all;
}

} // namespace

Formula::Formula(const QString& text, bool hasVectors) : words_(readFormula(text, hasVectors)) {}

QSizeF Formula::sizeFor(double width, const QFont& font) const {
    return setLines(nullptr, words_, {0, 0, width, 0}, font, {});
}

void Formula::paint(QPainter& painter, const QRectF& area, const QFont& font, const QColor& colour) const {
    setLines(&painter, words_, area, font, colour);
}

QString Formula::html() const {
    QStringList words;
    for (const auto& word : words_) words << htmlOf(*word);
    return words.join(u' ');
}

} // namespace attn
