#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/bridge/playground_bridge.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/preferences.h"
#include "app/lab/lessons/lesson_stage.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/attention_settings.h"
#include "app/lab/panels/start_panel.h"
#include "app/lab/shell/scope_link.h"
#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/session_file.h"
#include "engine/inference/storage_choice.h"

#include <QMainWindow>
#include <QUndoGroup>
#include <QUndoStack>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>

class QDockWidget;
class QMenu;

namespace attn {

class AttentionPanel;
class Autosave;
class Banner;
class DockLayout;
class GeneratePanel;
class LessonPanel;
class LessonPlayer;
class PictureInputPanel;
struct Provenance;
class StatusStrip;
class TrainPanel;
class WorkspaceRail;
struct Workspace;

/// The main window: docked panels, menus, files and banners. It passes each snapshot to the workbench, and the commands
/// of the workbench to the bridge.
class MainWindow : public QMainWindow, public LessonStage {
    Q_OBJECT

public:
    struct Setup {
        Preferences preferences;
        DeviceChoice device;
        QString path = "builtin:induction"; ///< opened at once, while the widgets are still being made
        QString opens{};                    ///< opened in place of `path`
        QString prompt;
        QString autosaveFolder; ///< empty: no autosave
        QString runsFolder;     ///< folder of the training runs
        QSize size{1280, 800};
        bool remembersLayout = true; ///< false: starts with the default layout and does not save it
        ScopeStarter startScope{};   ///< empty: the attention-scope in this program's folder
        QString lessonFolder{};      ///< folder of the user's own lessons
        bool asksStorage = true;     ///< of the weights of a large model, before it is loaded; false: f32
        /// Offers the lessons at the very first start, and goes on with a lesson that was left open.
        bool greets = false;
    };

    explicit MainWindow(Setup setup, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens a model folder, a model file, a picture or a session file. What it is is read on another thread.
    void open(const QString& path, const QString& prompt = {});
    void openSession(const QString& path);
    /// Opens a link to a view. @see sessionLink
    void openLink(const QString& link);
    /// Whether a file is being read that is to be opened.
    bool isOpening() const { return opening_.isRunning(); }
    void saveSessionAs(const QString& path);
    /// Whether a session is being written.
    bool isSaving() const { return saving_.isRunning(); }
    /// Saves the layout and a copy of the session, which the next start offers: the system is ending the program.
    void saveForNextStart();
    /// Opens a lesson file, or a bundled lesson by its name or number.
    void openLesson(const QString& name);
    LessonPlayer& lessons() { return *lessons_; }
    SessionBridge& bridge() { return bridge_; }

    void setTheme(ThemeId theme);
    void setLocks(const ControlLocks& locks);
    void exportFigure(const QString& path);
    /// Exports the current figure at every checkpoint of the active training run: a .gif, or numbered .png files.
    void exportRun(const QString& path);

    // LessonStage
    Workbench& workbench() override { return bench_; }
    QWidget& controls() override { return *this; }
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
    bool isRestoring() const override { return pending_.has_value(); }

signals:
    void failureShown(const QString& sentence); ///< a file that was asked for, or its model, cannot be shown

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    /// Says so if another export is running. @param path of the export that has to wait
    bool isExporting(const QString& path);
    void exportRun(const QString& run, const std::vector<std::filesystem::path>& all, const QString& path);
    void makeDocks();
    void makeWorkspaces();
    void showWorkspace(const Workspace& workspace);
    void makeMenus();
    void makeFileMenu();
    void makeEditMenu();
    void makeGenerateMenu();
    void makeTrainMenu();
    void makeViewMenu();
    void makeHelpMenu();
    /// @param shortcuts separated by "; "  @param controlGroup whose lock applies to it; null: none
    QAction* addAction(QMenu* menu, const char* id, const QString& text, const QString& toolTip,
                       const QString& shortcuts, const char* controlGroup, std::function<void()> slot);
    void makeBanners();
    void startAutosave();
    /// Adds a step of undo that leads back from another model.
    /// The session to save for the next start: not a lesson's, nor the run that trains.
    SessionDocument ownDocument() const;
    void keepModelBefore(const Snapshot& next);
    /// @param path of the model that is open after the step  @param again does the step once more; null: opens the
    /// model
    void pushModelStep(const QString& text, const QString& path, std::function<void()> again = {});
    void reopen(const QString& path); ///< as a part of a step of undo
    void openFresh();                 ///< the default model with its example
    void bringBack(const SessionDocument& document);
    void makeLessons(const QString& folder);
    void greet();
    void continueLesson(const QString& id); ///< at the step where it was left
    void rememberLesson();                  ///< the one that is open, for the next start
    /// Goes on with the lesson that the last end left open, once the session before it is known.
    void resumeLesson();
    const ControlLocks& locksInForce() const { return lessonLocks_ ? *lessonLocks_ : locks_; }
    void showLocks();
    void refreshRecent();
    void updateActions();
    bool isHeadRemoved() const;        ///< the selected one
    void toggleHead();                 ///< removes the selected head, or brings it back
    void toggleShownRun(ShownRun run); ///< a second call returns to the changed run
    void updateRemark();               ///< lists unusual states in the status strip

    void makeStart();
    void offerStart(); ///< tells the start page what can be continued
    void takeTour(StartPanel::Tour tour);
    void setPreferences(const Preferences& preferences);
    void showSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    /// Shows what belongs to the window itself, after the panels.
    void finishSnapshot();
    /// At the very first start, compiles the kernels of training once the first picture is there.
    void prepareEngine();
    void showFailure(const Failure& failure);
    void updateTitle(); ///< the model, its moment in a training run, and the session's file
    void continueRestore();
    void tellRefused(const SessionDocument& document); ///< what it asks for and no panel shows
    enum class Kind { Model, Picture, Lesson, Text };
    /// Reads the file: not for the window's thread. @return why there is nothing to open in it
    static std::variant<Kind, Failure> kindOf(const QString& path);
    /// What there is to open in a file.
    struct Found {
        Kind kind = Kind::Model;
        std::optional<StorageChoice> storage{}; ///< of a model that can be read
    };
    static std::variant<Found, Failure> foundAt(const QString& path); ///< as kindOf()
    void openAs(const Found& found, const QString& path, const QString& prompt);
    /// Shows the memory and the speed of each storage, measured if need be. @param chosen called with the choice
    void askStorage(const StorageChoice& model, Storage storage, const QString& accept,
                    std::function<void(Storage)> chosen, std::function<void()> cancelled = {});
    void changeStorage();                               ///< of the open model, which opens again as it is
    bool isOpen(const SessionDocument& document) const; ///< its model, with its storage
    void tellNothingOpened();
    void openText(const QString& path);                        ///< puts it into the prompt
    QStringList uselessPanels(const Snapshot& snapshot) const; ///< ids of those that show nothing of its model
    /// Opens the picture that was asked for last, once it is known whether the open model reads pictures.
    void openWaitingPicture();
    void showTraining(const TrainingSnapshot& snapshot); ///< in the status bar
    /// Remembers the run that trains or is paused, until it is done: the next start offers to continue it.
    void rememberTraining(const TrainingSnapshot& snapshot);
    void offerRun();         ///< which trains beside a text that is being written
    void withdrawRunOffer(); ///< once nothing is written, or the run has ended, or is on screen
    void offerTraining();    ///< to continue the run that was not done when the program ended
    /// Opens a model. The commands that follow act on it.
    /// @param keepsPrompt as in OpenModelCommand
    void postModel(const QString& path, const QString& prompt, bool keepsPrompt = false,
                   Storage storage = Storage::F32);
    void showOpening(const QString& path);
    /// Says why a file was not opened. One that is gone leaves the list of recent files.
    void showUnopened(const QString& path, Failure failure);
    void leaveStart(); ///< for the model that was opened from the start page, once it is there
    /// Shows work beside the window, with a Cancel button, if it takes longer than a moment.
    void showWork(const QString& what, std::function<bool()> isRunning);
    void cancelWork(); ///< that the Cancel button is for
    void chooseModelFolder();
    void saveLayout();
    void chooseModelFile();
    void choosePicture();
    void chooseSession();
    void saveSession();
    void chooseSessionPath();
    void chooseCapture();
    void chooseExport(const QString& suffix);
    QString suggestedName(const QString& suffix) const; ///< for the file of the current figure
    Provenance provenance(const Panel& panel) const;
    void chooseRunExport();
    void copyFigure();
    void copyLink();
    void chooseLink(); ///< asks for a link to open
    /// The panel that export and copy act on: the last one used, else the first with numbers.
    Panel* currentPanel() const;
    void openInScope();
    void showInScopes(); ///< makes scopes that this window opened show the same as it does
    void showPreferences();
    void showLockDialog();
    void showShortcuts();
    void showFinder();
    void showHelp(); ///< on the control under the pointer
    void showAbout();

    static constexpr auto kTypedPrompt = "typedPrompt"; ///< the setting: what GeneratePanel::typed() was at the end

    Preferences preferences_;
    bool remembersLayout_, asksStorage_;
    QString device_;      ///< as the user named it
    QString defaultPath_; ///< of the model that a fresh start shows
    ScopeStarter startScope_;
    QString firstPath_;        ///< model to open if the one that is opened first cannot be; empty: done
    QString waitingPicture_;   ///< empty: none
    bool leavesStart_ = false; ///< what is being opened was asked for on the start page
    QString rememberedRun_;    ///< the folder of the run that trains, or did; empty: none
    QString runOffer_;         ///< text of offerRun(), while its reason lasts
    QString offeredBeside_;    ///< path of the model that the views keep meanwhile
    BackgroundTask opening_, saving_, exporting_, measuring_;
    ScopeMirror mirror_;
    SessionBridge bridge_;
    TrainingBridge training_;
    PlaygroundBridge playground_;
    RunListModel runs_;
    QUndoStack ownSteps_, lessonSteps_; ///< of undo
    QUndoGroup undo_;                   ///< the one of them that is in use
    Workbench bench_;
    std::string shownExport_;
    std::map<QString, Panel*> panels_;
    std::map<QString, QDockWidget*> docks_;
    QStringList textPanels_; ///< ids of the panels that show nothing of pictures
    AttentionPanel* attention_ = nullptr;
    std::map<QString, AttentionLevel> levels_; ///< that each workspace shows
    const Workspace* levelOf_ = nullptr;       ///< the workspace that set the level last
    DockLayout* layout_ = nullptr;
    WorkspaceRail* rail_ = nullptr;
    Panel* focusedPanel_ = nullptr;
    GeneratePanel* generate_ = nullptr;
    TrainPanel* train_ = nullptr;
    PictureInputPanel* pictureInput_ = nullptr;
    LessonPanel* lessonPanel_ = nullptr;
    StartPanel* start_ = nullptr;
    StatusStrip* status_ = nullptr;
    Banner *failureBanner_ = nullptr, *offerBanner_ = nullptr;
    bool isFailureOfModel_ = false; ///< the one in the banner
    bool isFirstUse_ = false;       ///< until prepareEngine()
    std::unique_ptr<Autosave> autosave_;
    QString sessionPath_;
    ControlLocks locks_;
    std::optional<ControlLocks> lessonLocks_;
    std::optional<SessionDocument> beforeRun_; ///< the session that the views left for a training run
    std::optional<SessionDocument> leftover_;  ///< from a program that ended without saving
    QString returningTo_;                      ///< model of a step of undo or a session, not open yet; empty: none
    bool tellsRefused_ = false;                ///< of the session that is opened, what it asks for in vain
    std::optional<SessionDocument> pending_;   ///< a session whose model is still being loaded
    std::map<QString, QAction*> actions_;
    QList<QAction*> recentActions_;
    QString lessonToResume_;                ///< empty: none
    std::unique_ptr<LessonPlayer> lessons_; ///< declared last: it uses all the others
};

} // namespace attn
