#pragma once

#include "app/lab/bridge/playground_bridge.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/preferences.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/shell/export_controller.h"
#include "app/lab/shell/file_controller.h"
#include "app/lab/shell/lesson_controller.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/notices.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/preferences_controller.h"
#include "app/lab/shell/scope_link.h"
#include "app/lab/shell/session_controller.h"
#include "app/lab/shell/undo_lists.h"
#include "app/lab/workbench/attention_settings.h"

#include <QMainWindow>

#include <map>
#include <memory>

namespace attn {

class Autosave;
class DockLayout;
class Presentation;
class ScopeController;
class StartController;
class TrainingController;
class WindowMenus;
class WorkspaceRail;
struct Workspace;

/// The main window: docks, menus and the status bar, which controllers fill. It passes each snapshot to the workbench,
/// and the commands of the workbench to the bridge.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    struct Setup {
        Preferences preferences;
        DeviceChoice device;
        QString path = "builtin:induction"; ///< opened at once, while the widgets are still being made
        QStringList opens{};                ///< the first is opened in place of `path`
        QString prompt;
        QString autosaveFolder; ///< empty: no autosave
        QString runsFolder;     ///< folder of the training runs
        QSize size{1280, 800};
        bool remembersLayout = true; ///< false: starts with the default layout and does not save it
        ScopeStarter startScope{};   ///< empty: the attention-scope in this program's folder
        QString lessonFolder{};      ///< folder of the user's own lessons
        bool asksStorage = true;     ///< of the weights of a large model, before it is loaded; false: f32
        /// Offers the lessons at the very first start, and continues with a lesson that was left open.
        bool greets = false;
    };

    explicit MainWindow(Setup setup, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Saves the layout and a copy of the session, which the next start offers: the system is ending the program.
    void saveForNextStart();

    Workbench& workbench() { return bench_; }
    SessionBridge& bridge() { return bridge_; }
    PanelDocks& panels() { return *panels_; }
    Notices& notices() { return *notices_; }
    LockController& locks() { return *locks_; }
    PreferencesController& preferences() { return *preferences_; }
    SessionController& session() { return *session_; }
    FileController& files() { return *files_; }
    ExportController& exports() { return *exports_; }
    LessonController& lessons() { return *lessons_; }
    Presentation& presentation() { return *presentation_; }

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    /// Has the session's thread open what the window begins with.
    SessionController::Beginning begin(const Setup& setup);
    void makeWorkspaces();
    void makeControllers(const Setup& setup, SessionController::Beginning beginning);
    void showWorkspace(const Workspace& workspace);
    bool startAutosave(); ///< @return whether it offers a session that an earlier program left over
    void showSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    void finishSnapshot(); ///< after the panels
    /// Leaves out panels that show nothing of a model, and those that locks hide. @param snapshot null: no model
    void leaveOut(const Snapshot* snapshot);
    void updateTitle();    ///< the model, its step in a training run, and the session's file
    void updateRemark();   ///< lists unusual states in the status strip
    void updateWarnings(); ///< of the open model and of the one that it is compared with
    void cancelWork();     ///< that the Cancel button is for
    void saveLayout();

    bool remembersLayout_;
    SessionBridge bridge_;
    TrainingBridge training_;
    PlaygroundBridge playground_;
    RunListModel runs_;
    UndoLists undo_;
    Workbench bench_;
    std::unique_ptr<PreferencesController> preferences_;
    std::unique_ptr<Notices> notices_;
    std::unique_ptr<PanelDocks> panels_;
    WorkspaceRail* rail_ = nullptr;
    DockLayout* layout_ = nullptr;
    std::map<QString, AttentionLevel> levels_; ///< that each workspace shows
    const Workspace* levelOf_ = nullptr;       ///< the workspace that set the level last
    std::unique_ptr<LockController> locks_;
    std::unique_ptr<SessionController> session_;
    std::unique_ptr<FileController> files_;
    std::unique_ptr<ExportController> exports_;
    std::unique_ptr<ScopeController> scopes_;
    std::unique_ptr<TrainingController> trainingController_;
    std::unique_ptr<LessonController> lessons_;
    std::unique_ptr<StartController> start_;
    std::unique_ptr<Presentation> presentation_;
    std::unique_ptr<WindowMenus> menus_;
    std::unique_ptr<Autosave> autosave_;
};

} // namespace attn
