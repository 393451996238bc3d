#include "app/figures/formula_reader.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

using Piece = Formula::Piece;
using PiecePtr = std::shared_ptr<const Piece>;
using Pieces = std::vector<PiecePtr>;

constexpr std::array<std::pair<const char*, char16_t>, 11> kGreek{{{"alpha", u'α'},
                                                                   {"beta", u'β'},
                                                                   {"gamma", u'γ'},
                                                                   {"sigma", u'σ'},
                                                                   {"theta", u'θ'},
                                                                   {"tau", u'τ'},
                                                                   {"phi", u'φ'},
                                                                   {"rho", u'ρ'},
                                                                   {"mu", u'μ'},
                                                                   {"pi", u'π'},
                                                                   {"eps", u'ε'}}};
constexpr QStringView kVectors = u"qkvxyzoQKVW";
/// Signs that end a product, and therefore the numerator of a fraction.
constexpr QStringView kRelations = u"=+−<>≤≥∼,;:";

PiecePtr made(Piece::Kind kind, Pieces parts, const QString& text = {}) {
    return std::make_shared<Piece>(Piece{.kind = kind, .text = text, .parts = std::move(parts)});
}
PiecePtr rowOf(Pieces parts) { return parts.size() == 1 ? parts.front() : made(Piece::Kind::Row, std::move(parts)); }

bool isSpace(const PiecePtr& part) { return part->kind == Piece::Kind::Space; }
bool isWord(const PiecePtr& part) {
    return part->kind == Piece::Kind::Text && part->style == Piece::Style::Upright && part->text.size() > 1 &&
           part->text[0].isLetter();
}
bool isRelation(const PiecePtr& part) {
    return part->kind == Piece::Kind::Text && part->text.size() == 1 && kRelations.contains(part->text);
}
/// The content of brackets that only group.
PiecePtr unwrapped(const PiecePtr& part) {
    return part->kind == Piece::Kind::Brackets && part->text == QLatin1String("()") ? part->parts[0] : part;
}

class FormulaReader {
public:
    FormulaReader(const QString& text, bool hasVectors) : text_(text), hasVectors_(hasVectors) {}

    /// Reads up to a closing sign, or to the end.
    /// @param mayStack whether " / " becomes a fraction bar
    Pieces row(QChar closing, bool mayStack) {
        Pieces parts;
        while (!isAtEnd() && (closing.isNull() || peek() != closing)) {
            if (mayStack && text_.mid(at_, 3) == QLatin1String(" / ") && !parts.empty() && !isRelation(parts.back())) {
                at_ += 3;
                fraction(parts, closing);
            } else {
                parts.push_back(factor(mayStack));
            }
        }
        return parts;
    }

private:
    bool isAtEnd() const { return at_ >= text_.size(); }
    QChar peek(qsizetype ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : QChar(); }
    bool accepts(const QString& sign) {
        if (text_.mid(at_, sign.size()) != sign) return false;
        at_ += sign.size();
        return true;
    }
    template <class Accepts> QString run(Accepts accepts) {
        const qsizetype begin = at_;
        while (!isAtEnd() && accepts(peek())) ++at_;
        return text_.mid(begin, at_ - begin);
    }

    /// Puts the product before the bar above it, and the next factor or sum below it.
    void fraction(Pieces& parts, QChar closing) {
        auto begin = parts.end();
        while (begin != parts.begin() && !isRelation(*std::prev(begin)) &&
               !(isSpace(*std::prev(begin)) && begin != parts.begin() + 1 && isRelation(*std::prev(begin, 2))))
            --begin;
        Pieces above(begin, parts.end());
        parts.erase(begin, parts.end());
        Pieces below{factor(true)};
        while (!isAtEnd() && peek() != closing &&
               ((below.front()->kind == Piece::Kind::Sum && !kRelations.contains(peek()) && peek() != u'-' &&
                 text_.mid(at_, 3) != QLatin1String(" / ") && !(peek() == u' ' && kRelations.contains(peek(1)))) ||
                (isFunction(below.back()) && (peek() == u'(' || peek() == u'['))))
            below.push_back(factor(true));
        parts.push_back(made(Piece::Kind::Fraction, {unwrapped(rowOf(std::move(above))), unwrapped(rowOf(below))}));
    }
    static bool isFunction(const PiecePtr& part) {
        return isWord(part) || (part->kind == Piece::Kind::Scripts && isWord(part->parts[0])) ||
               (part->kind == Piece::Kind::Text && part->style == Piece::Style::Italic);
    }

    /// A piece with its scripts.
    PiecePtr factor(bool mayStack) {
        if (accepts(QStringLiteral(" "))) return made(Piece::Kind::Space, {});
        PiecePtr base = atom(mayStack);
        PiecePtr low, high;
        while (!isAtEnd() && (peek() == u'_' || peek() == u'^') && !peek(1).isNull() && peek(1) != u' ') {
            PiecePtr& script = text_[at_++] == u'_' ? low : high;
            script = &script == &low ? subscript() : superscript();
        }
        if (base->kind == Piece::Kind::Sum) return low ? made(Piece::Kind::Sum, {low}) : base;
        return low || high ? made(Piece::Kind::Scripts, {base, low, high}) : base;
    }

    PiecePtr bracketed() {
        if (accepts(QStringLiteral("{"))) return closed(u'}');
        return accepts(QStringLiteral("(")) ? closed(u')') : nullptr;
    }
    PiecePtr closed(QChar closing) {
        PiecePtr inner = rowOf(row(closing, false));
        ++at_;
        return inner;
    }
    /// "j" and "jf" are indices; longer names are words.
    PiecePtr subscript() {
        if (PiecePtr inner = bracketed()) return inner;
        const QString name = run([](QChar c) { return c.isLetterOrNumber() || c == u'\''; });
        if (name.isEmpty()) return atom(false);
        const bool isIndex = name.size() <= 2 && name != QLatin1String("in") && !name.startsWith(u'O');
        if (const QString greek = greekOf(name); !greek.isEmpty()) return textPiece(greek, Piece::Style::Italic);
        return textPiece(QString(name).replace(u'\'', QChar(u'′')),
                         isIndex ? Piece::Style::Italic : Piece::Style::Upright);
    }
    PiecePtr superscript() {
        if (PiecePtr inner = bracketed()) return inner;
        if (accepts(QStringLiteral("-"))) return rowOf({textPiece(QStringLiteral("−")), atom(false)});
        if (peek() == u'T' && !peek(1).isLetter()) {
            ++at_;
            return textPiece(QStringLiteral("T")); // a transpose
        }
        return atom(false);
    }

    PiecePtr atom(bool mayStack) {
        const QChar c = peek();
        if (c.isLetter()) return name(mayStack);
        if (c.isDigit()) return number();
        constexpr QStringView kOpening = u"([⌊", kClosing = u")]⌋";
        if (const qsizetype kind = kOpening.indexOf(c); kind >= 0) return brackets(c, kClosing[kind], mayStack);
        if (c == u'|' && peek(1) != u' ' && text_.indexOf(u'|', at_ + 1) > 0) return brackets(c, c, mayStack);
        return sign();
    }

    PiecePtr brackets(QChar opening, QChar closing, bool mayStack) {
        ++at_;
        PiecePtr inner = rowOf(row(closing, mayStack));
        QString signs = opening;
        if (!isAtEnd()) signs += closing;
        ++at_;
        return made(Piece::Kind::Brackets, {inner}, signs);
    }

    PiecePtr number() {
        QString digits = run([](QChar c) { return c.isDigit(); });
        if (peek() == u'.' && peek(1).isDigit()) {
            ++at_;
            digits += u'.' + run([](QChar c) { return c.isDigit(); });
        }
        if (peek() != u'e' || !(peek(1).isDigit() || (peek(1) == u'-' && peek(2).isDigit()))) return textPiece(digits);
        ++at_; // 1e5
        const bool isSmall = accepts(QStringLiteral("-"));
        const QString power = (isSmall ? QStringLiteral("−") : QString()) + run([](QChar c) { return c.isDigit(); });
        const QString base = digits == QLatin1String("1") ? QStringLiteral("10") : digits + QStringLiteral("×10");
        return made(Piece::Kind::Scripts, {textPiece(base), nullptr, textPiece(power)});
    }

    static QString greekOf(const QString& name) {
        const auto found =
            std::ranges::find_if(kGreek, [&](const auto& each) { return name == QLatin1String(each.first); });
        return found == kGreek.end() ? QString() : QString(QChar(found->second));
    }

    PiecePtr name(bool mayStack) {
        QString name = run([](QChar c) { return c.isLetter(); });
        if (name.size() == 1 && peek().isDigit()) // y1
            return made(Piece::Kind::Scripts,
                        {letter(name), textPiece(run([](QChar c) { return c.isDigit(); })), nullptr});
        name += run([](QChar c) { return c.isLetterOrNumber(); });
        if (name == QLatin1String("sum") && peek() == u'_') return made(Piece::Kind::Sum, {});
        if (name == QLatin1String("sqrt")) return made(Piece::Kind::Root, {unwrapped(atom(mayStack))});
        if (name == QLatin1String("floor") && peek() == u'(') {
            const PiecePtr inner = brackets(u'(', u')', mayStack);
            return made(Piece::Kind::Brackets, inner->parts, QStringLiteral("⌊⌋"));
        }
        const QString greek = greekOf(name);
        if (!greek.isEmpty()) name = greek;
        const bool isLetter = name.size() == 1;
        if (!isLetter && peek() == u'\'' && peek(1).isLetter()) // an apostrophe
            return textPiece(name +
                             run([](QChar c) { return c == u'\'' || c.isLetter(); }).replace(u'\'', QChar(u'’')));
        name += run([](QChar c) { return c == u'\''; }).replace(u'\'', QChar(u'′'));
        return isLetter ? letter(name) : textPiece(name);
    }
    PiecePtr letter(const QString& name) const {
        const bool isVector = kVectors.contains(name[0]) && (hasVectors_ || peek() == u'_');
        return textPiece(name, isVector ? Piece::Style::Bold : Piece::Style::Italic);
    }

    PiecePtr sign() {
        static const std::array<std::pair<QString, QString>, 6> kSigns{{{QStringLiteral("..."), QStringLiteral("…")},
                                                                        {QStringLiteral("<="), QStringLiteral("≤")},
                                                                        {QStringLiteral("-"), QStringLiteral("−")},
                                                                        {QStringLiteral("*"), QStringLiteral("⊙")},
                                                                        {QStringLiteral("~"), QStringLiteral("∼")},
                                                                        {QStringLiteral("."), QStringLiteral("·")}}};
        for (const auto& [written, drawn] : kSigns)
            if (accepts(written)) return textPiece(drawn);
        return textPiece(text_[at_++]);
    }

    const QString& text_;
    bool hasVectors_;
    qsizetype at_ = 0;
};

} // namespace

PiecePtr textPiece(const QString& text, Piece::Style style) {
    return std::make_shared<Piece>(Piece{.text = text, .style = style});
}

Pieces readFormula(const QString& text, bool hasVectors) {
    Pieces words, word;
    const auto end = [&] {
        if (!word.empty()) words.push_back(rowOf(std::exchange(word, {})));
    };
    for (PiecePtr& part : FormulaReader(text, hasVectors).row({}, true)) {
        if (isSpace(part))
            end();
        else
            word.push_back(std::move(part));
    }
    end();
    return words;
}

} // namespace attn
