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

/// The interface through which lessons act: the workbench, and functions of the window. Panels have their catalogue
/// names.
class LessonStage {
public:
    virtual ~LessonStage() = default;

    virtual Workbench& workbench() = 0;
    /// The window that contains the controls to point at.
    virtual QWidget& controls() = 0;

    virtual void openModel(const QString& path, const QString& prompt) = 0;
    /// The view of a panel, as in session files.
    virtual QJsonObject view(const QString& panel) const = 0;
    virtual void setView(const QString& panel, const QJsonObject& view) = 0;
    /// The recipe in the form of the Train panel; empty while the form has errors.
    virtual std::optional<Recipe> recipe() const = 0;

    /// Whether a run is being trained and is not paused.
    virtual bool isTraining() const = 0;
    /// Continues to train the active run, and lets the views follow it.
    virtual void continueTraining() = 0;

    /// Shows the lessons on the left and only these panels beside them. The first panel gets the largest space.
    virtual void arrangeFor(const QStringList& panels) = 0;
    /// Replaces the user's locks, or restores them if `locks` is none.
    virtual void setLessonLocks(const std::optional<ControlLocks>& locks) = 0;

    /// The open session, and a function that restores one.
    virtual SessionDocument document() const = 0;
    virtual void restore(SessionDocument document) = 0;
    /// Starts an empty undo list for a lesson, or restores the user's list, which again fits the session.
    virtual void setLessonUndo(bool isLesson) = 0;
    /// Whether a session is waiting for its model to load.
    virtual bool isRestoring() const = 0;
};

} // namespace attn
