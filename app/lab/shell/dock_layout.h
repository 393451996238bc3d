#pragma once

#include "app/lab/shell/workspaces.h"

#include <QByteArray>
#include <QObject>
#include <QSize>
#include <QTimer>

#include <map>

class QDockWidget;
class QMainWindow;
class QWidget;

namespace attn {

/// Arranges the docks of a window: one arrangement for each workspace, which the user may change and which is kept, and
/// one for a lesson. The column at the left keeps its width when the window changes its size; the main place takes the
/// rest.
class DockLayout : public QObject {
    Q_OBJECT

public:
    /// @param docks by the id of their panel  @param window the parent
    DockLayout(QMainWindow& window, std::map<QString, QDockWidget*> docks);

    const Workspace& workspace() const { return *workspace_; }
    /// The dock in front of the main place; null: it is empty.
    QDockWidget* front() const { return frontOf(workspace_->main); }
    /// Arranges the docks of a workspace as the user left them, or as it suggests. While a lesson runs, Learn holds its
    /// panels.
    void enter(const Workspace& workspace);
    /// Arranges the docks of the present workspace as it suggests.
    void reset();
    /// Brings a panel to the front: here if it is here, else in the first workspace that holds it, else in the main
    /// place of this workspace.
    void showPanel(const QString& id);
    /// Shows the lessons on the left and only these panels beside them. The first one is the largest.
    void arrangeFor(const QStringList& panels);
    /// Shows one panel and no other, until endAlone() or until anything else is arranged. What is kept is the
    /// arrangement from before.
    void showAlone(const QString& panel);
    void endAlone();
    /// Leaves these panels out, which would be empty, until they are no longer named: each comes back to its place.
    void setAbsent(const QStringList& panels);
    /// Learn shows its own panels the next time that it is entered.
    void endLesson() { hasLesson_ = false; }

    /// The present arrangement with its workspace, for session files and settings.
    QByteArray save() const;
    /// Restores what save() returned. Anything else changes nothing.
    void restore(const QByteArray& saved);
    /// All arrangements of all workspaces.
    void store() const;
    void load();

signals:
    void left(const attn::Workspace& workspace);
    void entered(const attn::Workspace& workspace);
    void aloneEnded();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct ColumnSize {
        int width = 0;    ///< in pixels
        double lower = 0; ///< share of its height that the lower place takes
    };
    /// The docks of a workspace on screen.
    struct Arrangement {
        QByteArray docks;
        QStringList leftOut; ///< panels that belong to it, but were absent
    };
    Arrangement arrangement() const;
    void keepArrangement(const QString& id, Arrangement arrangement); ///< of a file: drops panels that do not exist
    void arrange();
    /// Ends what the mouse is moving: a dock, a tab or an edge. Qt keeps places in the arrangement that it began with,
    /// and would continue in one that is gone.
    void endDrag();
    void showPresent(); ///< leaves out what is absent
    void leaveOutAbsent();
    void change(const Workspace& workspace);
    void keep();       ///< remembers the arrangement of the present workspace
    void keepColumn(); ///< remembers the size of the column that the user has chosen
    void useSizes();   ///< gives the column its size, and the main place the rest
    /// Gives the keyboard back to the control that had it, or to the main figure if that control is out of sight now.
    void giveFocus(QWidget* control);
    ColumnSize column() const;
    QDockWidget* frontOf(const QStringList& ids) const;

    QMainWindow& window_;
    std::map<QString, QDockWidget*> docks_;
    const Workspace* workspace_;
    bool isKept_ = false;                 ///< whether the arrangement on screen is that of the workspace
    std::map<QString, Arrangement> kept_; ///< by the id of the workspace
    QStringList absent_;                  ///< panels that have nothing to show
    QStringList leftOut_;                 ///< those of them that would be on screen
    QDockWidget* alone_ = nullptr;        ///< the only one on screen; null: there may be others
    Arrangement beforeAlone_;
    QSize sizeBeforeAlone_;                   ///< of the window
    std::map<QString, ColumnSize> columns_;   ///< sizes that the user has chosen
    QStringList lesson_;                      ///< panels of the lesson
    bool isLesson_ = false;                   ///< the lesson is on screen
    bool hasLesson_ = false;                  ///< a lesson runs, on screen or not
    const Workspace* beforeLesson_ = nullptr; ///< the workspace that the lesson has taken the place of
    bool isDragging_ = false;                 ///< the user moves an edge of the column or of its places
    QTimer resized_;
};

} // namespace attn
