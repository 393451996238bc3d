#include "app/lab/widgets/prompt_editor.h"

#include "app/lab/widgets/whole_lines.h"
#include "engine/session/commands.h"

#include <QKeyEvent>
#include <QtMath>

#include <utility>

namespace attn {

PromptEditor::PromptEditor(QWidget* parent) : LimitedEditor(static_cast<int>(kMostPromptBytes), parent) {
    setUndoRedoEnabled(false);
    setTabChangesFocus(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
}

QSize PromptEditor::sizeHint() const { return {240, heightOfLines(*this, *document(), 3)}; }

QSize PromptEditor::minimumSizeHint() const { return {120, heightOfLines(*this, *document(), 2)}; }

void PromptEditor::resizeEvent(QResizeEvent* event) {
    const int spare = spareBelowLines(*this, *document());
    // Setting the margins lays out the bars again, even if nothing changes. If a text fits only without a bar, that
    // would call this function endlessly.
    if (std::exchange(spare_, spare) != spare) setViewportMargins(0, 0, 0, spare);
    LimitedEditor::resizeEvent(event);
}

bool PromptEditor::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
            event->ignore();
            return false;
        }
    }
    return LimitedEditor::event(event);
}

void PromptEditor::keyPressEvent(QKeyEvent* event) {
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (isReturn && (event->modifiers() & Qt::ControlModifier)) return emit runRequested();
    LimitedEditor::keyPressEvent(event);
}

} // namespace attn
