#pragma once

#include "app/lab/lessons/lesson_player.h"
#include "app/lab/lessons/lesson_stage.h"
#include "app/lab/shell/window_parts.h"

namespace attn {

class LessonPanel;
class SessionController;
class TrainPanel;
class UndoLists;

/// Opens lessons, and is the stage that they act on.
class LessonController : public QObject, public LessonStage {
    Q_OBJECT

public:
    /// @param folder of the user's own lessons
    LessonController(const WindowParts& parts, SessionController& session, UndoLists& undo, const QString& folder);

    LessonPlayer& player() { return player_; }
    /// Opens a lesson file, or a bundled lesson by its name or number.
    void open(const QString& name);
    void showList();
    /// The title of the lesson that was begun and not finished; empty: there is none.
    QString unfinishedTitle() const;
    void continueUnfinished();
    /// Remembers for the next start which lesson is open. @param isKept false: that none is
    void rememberOpen(bool isKept) const;
    /// Has goOn() continue the lesson that the last end left open.
    void continueOpen();
    /// Continues that lesson once the session before it is known.
    void goOn();

    // LessonStage
    Workbench& workbench() override { return bench_; }
    QWidget& controls() override;
    void openModel(const QString& path, const QString& prompt) override;
    QJsonObject view(const QString& panel) const override;
    void setView(const QString& panel, const QJsonObject& view) override;
    std::optional<Recipe> recipe() const override;
    bool isTraining() const override;
    void continueTraining() override;
    void arrangeFor(const QStringList& panels) override;
    void setLessonLocks(const std::optional<ControlLocks>& locks) override;
    SessionDocument document() const override;
    void restore(SessionDocument document) override;
    void setLessonUndo(bool isLesson) override;
    bool isRestoring() const override;

private:
    const Lesson* lessonOf(const QString& id) const; ///< null: none has this id
    void continueLesson(const QString& id);          ///< at the step where it was left
    void offerReturn();                              ///< while a lesson runs in another workspace

    WindowParts parts_;
    Workbench& bench_ = parts_.bench;
    SessionController& session_;
    UndoLists& undo_;
    TrainPanel& train_;
    LessonPanel& panel_;
    QString toContinue_; ///< id of the lesson of continueOpen(); empty: none
    LessonPlayer player_;
};

} // namespace attn
