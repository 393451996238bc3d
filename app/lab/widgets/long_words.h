#pragma once

#include <QString>
#include <QTextOption>

namespace attn {

/// How an editor breaks lines. Qt takes time that grows with the square of a word's length to find a place between
/// words, so text with a very long word may break anywhere.
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
    static constexpr int kLong = 1000; ///< characters; no word of a language is longer
    int length_ = 0;
    bool isLong_ = false;
};

} // namespace attn
