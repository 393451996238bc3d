#pragma once

#include <QUndoCommand>

#include <functional>
#include <utility>

namespace attn {

/// Another model has been opened. Undoing returns to the one before, with its text, changes and views; redoing returns
/// to the other one as undoing left it.
class ModelStep : public QUndoCommand {
public:
    /// @param again opens the new model once more; it is open already
    ModelStep(const QString& text, std::function<void()> back, std::function<void()> again)
        : QUndoCommand(text), back_(std::move(back)), again_(std::move(again)) {}

    void undo() override {
        isOpen_ = false;
        back_();
    }
    void redo() override {
        if (!std::exchange(isOpen_, true)) again_();
    }

private:
    std::function<void()> back_, again_;
    bool isOpen_ = true; ///< QUndoStack::push() calls redo()
};

} // namespace attn
