#pragma once

#include <QUndoGroup>
#include <QUndoStack>

namespace attn {

/// The user's own steps of undo, and apart from them those of a lesson.
class UndoLists {
public:
    UndoLists() {
        for (QUndoStack* each : {&own_, &lesson_}) group_.addStack(each);
        group_.setActiveStack(&own_);
    }
    /// Begins an empty list for a lesson, or returns to the user's own.
    void setLesson(bool isLesson) {
        lesson_.clear();
        group_.setActiveStack(isLesson ? &lesson_ : &own_);
    }
    QUndoGroup& group() { return group_; } ///< its active stack is the one that is in use

private:
    QUndoStack own_, lesson_;
    QUndoGroup group_;
};

} // namespace attn
