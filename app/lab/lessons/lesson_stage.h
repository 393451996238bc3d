#pragma once

#include "app/lab/common/control_groups.h"
#include "app/lab/workbench/session_file.h"
#include "engine/training/recipe.h"

#include <QJsonObject>
#include <QStringList>

#include <optional>

class QWidget;

namespace attn {

class Workbench;

/// What lessons act on: the workbench, and what only a window has. Panels are named as in their catalogue.
class LessonStage {
public:
    virtual ~LessonStage() = default;

    virtual Workbench& workbench() = 0;
    /// The window in which a lesson points at controls by their names.
    virtual QWidget& controls() = 0;

    virtual void openModel(const QString& path, const QString& prompt) = 0;
    /// The view of a panel, as session files keep it.
    virtual QJsonObject view(const QString& panel) const = 0;
    virtual void setView(const QString& panel, const QJsonObject& view) = 0;
    /// The recipe in the form of the Train panel; empty while the form has errors.
    virtual std::optional<Recipe> recipe() const = 0;

    /// Whether a run trains, and is not paused.
    virtual bool isTraining() const = 0;
    /// Trains the active run further, and lets the views follow it.
    virtual void continueTraining() = 0;

    /// Shows the lessons on the left and only these panels beside them. The first panel is the largest.
    virtual void arrangeFor(const QStringList& panels) = 0;
    /// Applies locks instead of the user's own. Call with nothing to return to the user's locks.
    virtual void setLessonLocks(const std::optional<ControlLocks>& locks) = 0;

    /// The session that is open, and its return.
    virtual SessionDocument document() const = 0;
    virtual void restore(SessionDocument document) = 0;
    /// Begins an empty list of steps of undo for a lesson, or returns to the user's own, which fit the session again.
    virtual void setLessonUndo(bool isLesson) = 0;
    /// Whether a session is waiting for its model to load.
    virtual bool isRestoring() const = 0;
};

} // namespace attn
