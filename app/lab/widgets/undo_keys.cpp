#include "app/lab/widgets/undo_keys.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTextEdit>

namespace attn {
namespace {

QAbstractSpinBox* numberBoxOf(QObject* field) {
    auto* box = qobject_cast<QAbstractSpinBox*>(field);
    return box || !qobject_cast<QLineEdit*>(field) ? box : qobject_cast<QAbstractSpinBox*>(field->parent());
}

QLineEdit* lineOf(QObject* field) {
    if (auto* line = qobject_cast<QLineEdit*>(field)) return line;
    if (const auto* box = qobject_cast<QComboBox*>(field)) return box->lineEdit();
    const auto* number = numberBoxOf(field);
    return number ? number->findChild<QLineEdit*>(QString(), Qt::FindDirectChildrenOnly) : nullptr;
}

const QTextDocument* documentOf(QObject* field) {
    if (const auto* plain = qobject_cast<QPlainTextEdit*>(field)) return plain->document();
    const auto* rich = qobject_cast<QTextEdit*>(field);
    return rich ? rich->document() : nullptr;
}

} // namespace

bool UndoKeys::eventFilter(QObject* watched, QEvent* event) {
    const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride;
    if ((!isKey && event->type() != QEvent::FocusOut) || !watched->isWidgetType()) return false;
    const auto* key = isKey ? static_cast<const QKeyEvent*>(event) : nullptr;
    QLineEdit* line = lineOf(watched);
    const bool isNumber = line && numberBoxOf(watched);
    if (event->type() != QEvent::ShortcutOverride) {
        const bool isTaken = !key || key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (isNumber && isTaken) line->setModified(false);
        return false;
    }
    const bool isUndo = key->matches(QKeySequence::Undo);
    const QTextDocument* document = documentOf(watched);
    if ((!isUndo && !key->matches(QKeySequence::Redo)) || (!line && !document)) return false;
    const bool hasOwn = document ? (isUndo ? document->isUndoAvailable() : document->isRedoAvailable())
                        : isUndo ? line->isUndoAvailable() && (line->isModified() || !isNumber)
                                 : line->isRedoAvailable();
    if (hasOwn) return false;
    event->ignore();
    return true;
}

} // namespace attn
