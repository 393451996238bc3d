#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/widgets/jobs_view.h"
#include "engine/training/run_jobs.h"

#include <QTimer>
#include <QToolButton>

#include <vector>

class QFrame;
class QLabel;
class QScrollArea;

namespace attn {

class Workbench;

/// Says in the status bar what is running, how far it is and how long it still takes, and opens the list of jobs: those
/// of this program, and the training runs that other programs train or that are not finished.
class JobsButton : public QToolButton {
    Q_OBJECT

public:
    explicit JobsButton(Workbench& bench, QWidget* parent = nullptr);

    void open();
    /// Whether the list is on screen.
    bool isOpen() const;
    QSize sizeHint() const override; ///< of the whole text
    QSize minimumSizeHint() const override;

signals:
    /// A run that nobody trains, and that is in the list of runs, is to be trained.
    void runContinued(const QString& folder);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QSize sizeFor(const QString& text) const;
    void say(const QString& text);
    void fitText(); ///< cuts the text off where the button ends
    void showText();
    void showRows();
    void listFolder(); ///< the jobs on the disk, on another thread
    void act(const QString& key, JobButton button);
    /// Puts a run that began after this program into the list of runs. @return whether it is there
    bool listRun(const std::filesystem::path& folder);
    void continueRun(const std::filesystem::path& folder);
    void showPlaceOf(const JobStatus& job);
    bool isTrainingLocked() const;
    void place();

    Workbench& bench_;
    QFrame* popover_;
    QScrollArea* scroll_;
    JobsView* view_;
    std::vector<FolderJob> onDisk_; ///< not finished, and not of this program
    QString text_;                  ///< of the button
    QString problem_;               ///< why the last request failed; empty: it did not
    QString listProblem_;           ///< why the jobs on the disk cannot be listed; empty: they are
    QTimer textPause_;              ///< work of a moment is not named
    QTimer reading_;                ///< while the list is on screen
    BackgroundTask listing_;
};

} // namespace attn
