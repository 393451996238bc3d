#pragma once

#include <QDoubleSpinBox>
#include <QSpinBox>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace attn {

/// Shows beside a box, for some seconds, why it holds another number than the one that was typed.
/// @param typed what was typed  @param held what the box takes in its place
/// @param side 1: the number was above the range, -1: below, 0: it was finer than the box can hold
void noteReplaced(const QAbstractSpinBox& box, const QString& typed, const QString& held, int side);

/// A box of Qt's in which any number can be typed. In place of one outside of its range it takes the nearest bound, and
/// in place of a finer one the nearest that it can hold, and a note says so. Qt's own box leaves out digits while one
/// types, or goes back to the former number without a word.
template <class Box> class RangedBox : public Box {
public:
    using Box::Box;

    QValidator::State validate(QString& text, int& position) const override {
        const QValidator::State state = Box::validate(text, position);
        return state == QValidator::Invalid && mayBecomeNumber(withoutAffixes(text)) ? QValidator::Intermediate : state;
    }

    void fixup(QString& text) const override {
        const QString typed = withoutAffixes(text).trimmed();
        bool isNumber = false;
        const double number = this->locale().toDouble(typed, &isNumber);
        if (!isNumber || !std::isfinite(number)) return Box::fixup(text);
        const auto least = static_cast<double>(this->minimum()), most = static_cast<double>(this->maximum());
        const double held = std::clamp(number, least, most);
        const QString shown = this->textFromValue(nearest(held));
        text = this->prefix() + shown + this->suffix();
        noteReplaced(*this, typed, shown, number > held ? 1 : number < held ? -1 : 0);
    }

private:
    static bool mayBecomeNumber(const QString& text) {
        int points = 0;
        constexpr int kMostDigits = 30;
        if (text.size() > kMostDigits) return false;
        for (qsizetype at = 0; at < text.size(); ++at) {
            const QChar c = text[at];
            points += c == '.' ? 1 : 0;
            if (!(c >= '0' && c <= '9') && c != '.' && !(at == 0 && (c == '-' || c == '+'))) return false;
        }
        return points < 2;
    }

    QString withoutAffixes(const QString& text) const {
        QString number = text;
        if (!this->prefix().isEmpty() && number.startsWith(this->prefix())) number.remove(0, this->prefix().size());
        if (!this->suffix().isEmpty() && number.endsWith(this->suffix())) number.chop(this->suffix().size());
        return number.trimmed();
    }

    auto nearest(double number) const {
        if constexpr (std::is_base_of_v<QSpinBox, Box>)
            return static_cast<int>(std::lround(number));
        else
            return number;
    }
};

/// A box for whole numbers.
using WholeBox = RangedBox<QSpinBox>;

} // namespace attn
