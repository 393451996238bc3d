#pragma once

#include "app/lab/shell/window_parts.h"
#include "app/lab/workbench/session_file.h"

#include <QObject>

#include <functional>
#include <memory>
#include <optional>

namespace attn {

/// What is open. It opens models and brings sessions back, each as one step of undo, and gives what is open as a
/// document.
class SessionController : public QObject {
    Q_OBJECT

public:
    /// What a window opens by itself. Its model is already being opened.
    struct Beginning {
        QString usual;                         ///< path of the model that a fresh start shows
        QString instead{};                     ///< opened if what was asked for cannot be; empty: nothing
        std::optional<SessionDocument> last{}; ///< the session of the last window
    };
    /// @param beforeLesson gives the session from before the lesson that runs; null: none runs
    SessionController(const WindowParts& parts, Beginning beginning,
                      std::function<const SessionDocument*()> beforeLesson);

    /// The command that opens a model. @param keepsPrompt as in the command
    static OpenModelCommand opening(const QString& path, const QString& prompt, bool keepsPrompt = false,
                                    Storage storage = Storage::F32);
    static OpenModelCommand opening(const SessionDocument& document);

    /// Opens a model in the place of whatever is still on its way. The commands that follow act on it.
    void openModel(const QString& path, const QString& prompt, bool keepsPrompt = false,
                   Storage storage = Storage::F32);
    void openFresh(); ///< the usual model with its example
    /// Opens a model with its example in a workspace, as a step of undo. @param step its text in the Edit menu
    void openFresh(const QString& path, const QString& step, const char* workspace);
    void openPicture(const QString& path); ///< once it is known whether the open model reads pictures
    /// At the start, opens the usual model if what was asked for is none. @param prompt empty: the model's example
    bool openInstead(const QString& prompt = {});
    void restore(SessionDocument document);                      ///< as a step of undo
    void restore(SessionDocument document, const QString& step); ///< @param step its text in the Edit menu
    /// Restores a session that the user opens: says what it asks for in vain, and leaves the start page.
    void openDocument(SessionDocument document);
    bool isRestoring() const { return pending_.has_value(); }
    bool changesViews() const { return changesViews_; } ///< whether a document is giving the views what it holds
    void stopRestoring() { pending_.reset(); }

    /// The file that Save writes to; empty: what is open was begun afresh, or belongs to a lesson, and has none.
    QString file() const;
    void setFile(const QString& path);

    SessionDocument document() const;
    /// The session to offer if the program ends unexpectedly: not a lesson's, nor a run without a checkpoint.
    SessionDocument shownDocument() const;
    /// The session to save for the next start: not a lesson's, nor the run that trains.
    SessionDocument ownDocument() const;
    /// For the next start, whose model continues the text. @param isKept false: forgets the last one
    void rememberTyped(bool isKept) const;

    /// Leaves the start page, once what follows is there: it was asked for there.
    void expect() { leavesStart_ = true; }
    void expectNothing() { leavesStart_ = false; }
    void leaveStart();
    void bringPicture(const Snapshot& next); ///< to the front, if this model was opened for one

    /// Whether a new model was opened by the user, and not by a session, a lesson or a training run.
    bool isOpenedHere(const Snapshot& next) const;
    /// Adds the step of undo that leads back from another model.
    void keepBefore(const Snapshot& next);
    void fail(const Failure& failure); ///< of the session's thread
    /// Continues what waits for its model, once every panel shows it.
    void goOn();

signals:
    void fileChanged();

private:
    /// @param path of the model that is open after the step  @param again does the step once more; null: opens it
    void pushStep(const QString& text, const QString& path, std::function<void()> again = {});
    void replaceOpening();
    void reopen(const SessionDocument& document);
    void reopen(const QString& path); ///< as a part of a step of undo
    bool isOpen(const SessionDocument& document) const;
    void continueRestore();
    void tellRefused(const SessionDocument& document); ///< what it asks for and no panel shows
    void openWaitingPicture();
    QString here() const;                       ///< id of the workspace on screen
    void land();                                ///< notes where the newest step of undo has led
    void move(const std::function<void()>& go); ///< to another workspace, as a part of what was asked for

    WindowParts parts_;
    Workbench& bench_ = parts_.bench;
    PanelDocks& panels_ = parts_.panels;
    QString usual_, instead_; ///< of Beginning
    std::function<const SessionDocument*()> beforeLesson_;
    std::optional<SessionDocument> pending_;   ///< a session whose model is still being loaded
    QString pendingSince_;                     ///< the workspace from which it was asked for; empty: not known
    std::shared_ptr<QString> landing_;         ///< the workspace to which the newest step of undo has led
    QString file_;                             ///< of what is on screen
    bool begins_ = false;                      ///< the model that is being opened begins a document without a file
    std::optional<SessionDocument> beforeRun_; ///< the session that the views left for a training run
    QString returningTo_;                      ///< model of a step of undo or a session, not open yet; empty: none
    QString waitingPicture_;                   ///< empty: none
    bool bringsPicture_ = false;               ///< a picture was asked for whose model is being opened
    bool changesViews_ = false;
    bool tellsRefused_ = false; ///< of the session that is opened, what it asks for in vain
    int stepsBefore_ = 0;       ///< index of the undo stack before that session was opened
    bool leavesStart_ = false;  ///< what is being opened was asked for on the start page
};

} // namespace attn
