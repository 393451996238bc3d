#pragma once

#include "app/lab/widgets/limited_editor.h"

namespace attn {

/// An editor of the prompt. Undo and redo belong to the window, which also undoes branches and gates.
class PromptEditor : public LimitedEditor {
    Q_OBJECT

public:
    explicit PromptEditor(QWidget* parent = nullptr);

    QSize sizeHint() const override;        ///< three lines
    QSize minimumSizeHint() const override; ///< two lines

signals:
    void runRequested();

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    int spare_ = 0; ///< pixels below the last whole line
};

} // namespace attn
