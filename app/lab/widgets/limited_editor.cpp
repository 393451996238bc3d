#include "app/lab/widgets/limited_editor.h"

#include "app/lab/widgets/long_words.h"

#include <QMimeData>
#include <QUrl>

#include <algorithm>

namespace attn {

LimitedEditor::LimitedEditor(int most, QWidget* parent) : QPlainTextEdit(parent), most_(most) {}

QString LimitedEditor::objectionTo(qsizetype length) const {
    if (length <= most_) return {};
    return tr("Too long: %L1 characters (limit %L2).").arg(length).arg(most_);
}

void LimitedEditor::showText(const QString& text) {
    setWordWrapMode(LongWords().add(text));
    setPlainText(text);
}

/// Passes a file on to the window, which opens it. Nobody means to write its address as text.
bool LimitedEditor::canInsertFromMimeData(const QMimeData* source) const {
    const QList<QUrl> addresses = source->urls();
    return !std::ranges::any_of(addresses, &QUrl::isLocalFile) && QPlainTextEdit::canInsertFromMimeData(source);
}

void LimitedEditor::insertFromMimeData(const QMimeData* source) {
    if (!source || !source->hasText()) return; // an empty clipboard has no data at all
    const QString inserted = source->text();
    const qsizetype kept = document()->characterCount() - 1 - textCursor().selectedText().size();
    if (const QString why = objectionTo(kept + inserted.size()); !why.isEmpty()) return emit refused(why);
    LongWords words;
    words.add(toPlainText());
    setWordWrapMode(words.add(inserted));
    QPlainTextEdit::insertFromMimeData(source);
}

} // namespace attn
