#pragma once

#include <QString>
#include <QTextOption>

namespace attn {

/// The mode in which an editor breaks lines. Qt searches a break between words in time quadratic in a word's length, so
/// a text with a very long word may break anywhere.
class LongWords {
public:
    /// Reads more of the text. @return the mode for the text so far
    QTextOption::WrapMode add(const QString& text) {
        for (const QChar character : text) {
            length_ = character.isSpace() ? 0 : length_ + 1;
            if (length_ > kLong) isLong_ = true;
        }
        return isLong_ ? QTextOption::WrapAnywhere : QTextOption::WrapAtWordBoundaryOrAnywhere;
    }

private:
    static constexpr int kLong = 1000; ///< characters; words of languages are shorter
    int length_ = 0;
    bool isLong_ = false;
};

} // namespace attn
