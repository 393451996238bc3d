#pragma once

#include <QAbstractScrollArea>
#include <QTextDocument>

#include <algorithm>

namespace attn {

/// The height at which an editor shows this many lines of its text.
inline int heightOfLines(const QAbstractScrollArea& editor, const QTextDocument& text, int lines) {
    const QMargins frame = editor.contentsMargins();
    return editor.fontMetrics().lineSpacing() * lines + qCeil(2 * text.documentMargin()) + frame.top() + frame.bottom();
}

/// The height below an editor's last whole line, where a line would be cut off.
inline int spareBelowLines(const QAbstractScrollArea& editor, const QTextDocument& text) {
    return std::max(0, editor.height() - heightOfLines(editor, text, 0)) % editor.fontMetrics().lineSpacing();
}

} // namespace attn
