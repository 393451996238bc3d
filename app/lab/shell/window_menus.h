#pragma once

#include "app/lab/shell/window_parts.h"

#include <QList>
#include <QObject>
#include <QString>

#include <cstdint>
#include <functional>
#include <map>

class QAction;
class QMenu;
class QUndoGroup;

namespace attn {

class ExportController;
class FileController;
class GeneratePanel;
class LessonController;
class PreferencesController;
class Presentation;
class ScopeController;
class SessionController;
class TrainPanel;
enum class ShownRun : uint8_t;
struct Workspace;

/// The menus of the window: every action with its keys, its lock, and whether it can be used now.
class WindowMenus : public QObject {
    Q_OBJECT

public:
    /// What the actions ask besides panels.
    struct Targets {
        FileController& files;
        SessionController& session;
        ExportController& exports;
        LessonController& lessons;
        ScopeController& scopes;
        PreferencesController& preferences;
        Presentation& presentation;
        QUndoGroup& undo;
    };
    WindowMenus(const WindowParts& parts, const Targets& targets);

    void update(); ///< which actions can be used, and which are checked
    void setWorkspace(const Workspace& workspace);

private:
    void makeFileMenu();
    void makeEditMenu();
    void makeGenerateMenu();
    void makeTrainMenu();
    void makeViewMenu();
    void makeHelpMenu();
    /// @param shortcuts separated by "; "  @param controlGroup whose lock applies to it; null: none
    QAction* addAction(QMenu* menu, const char* id, const QString& text, const QString& toolTip,
                       const QString& shortcuts, const char* controlGroup, std::function<void()> slot);
    void showRecent();
    bool isHeadRemoved() const;        ///< the selected one
    void toggleHead();                 ///< removes the selected head, or brings it back
    void toggleShownRun(ShownRun run); ///< a second call returns to the changed run
    void showManual();
    void showShortcuts();
    void showFinder();

    WindowParts parts_;
    QMainWindow& window_ = parts_.window;
    Workbench& bench_ = parts_.bench;
    PanelDocks& panels_ = parts_.panels;
    Targets to_;
    GeneratePanel& generate_;
    TrainPanel& train_;
    std::map<QString, QAction*> actions_;
    QList<QAction*> recentActions_;
};

} // namespace attn
