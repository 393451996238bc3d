#pragma once

#include <QAbstractScrollArea>
#include <QTextDocument>

#include <algorithm>

namespace attn {

/// The height of an editor that shows so many lines of its text.
inline int heightOfLines(const QAbstractScrollArea& editor, const QTextDocument& text, int lines) {
    const QMargins frame = editor.contentsMargins();
    return editor.fontMetrics().lineSpacing() * lines + qCeil(2 * text.documentMargin()) + frame.top() + frame.bottom();
}

/// The pixels of an editor below its last whole line, in which a line would be cut in half.
inline int spareBelowLines(const QAbstractScrollArea& editor, const QTextDocument& text) {
    return std::max(0, editor.height() - heightOfLines(editor, text, 0)) % editor.fontMetrics().lineSpacing();
}

} // namespace attn
