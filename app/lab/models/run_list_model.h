#pragma once

#include "app/lab/bridge/background_task.h"
#include "engine/training/metrics.h"
#include "engine/training/recipe.h"

#include <QAbstractTableModel>
#include <QFileSystemWatcher>
#include <QSet>
#include <QStringList>
#include <QTimer>

#include <atomic>
#include <filesystem>
#include <map>
#include <vector>

namespace attn {

/// The training runs in the subfolders of a folder, with their curves. Another thread reads them; the list shows them
/// when all have been read. A run that starts meanwhile is listed at once, and one that another program writes soon
/// after.
class RunListModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { NameColumn, TaskColumn, StepColumn, LossColumn, MetricColumn, StartColumn, ColumnCount };

    struct Run {
        QString folder, name;
        Recipe recipe;
        std::vector<MetricPoint> points;
        bool isShown = false; ///< among the curves
        size_t series = 0;    ///< index of its colour among the colours of plots
    };

    /// @param folder the parent of all runs; it is created when the first run starts
    explicit RunListModel(QString folder, QObject* parent = nullptr);

    const QString& folder() const { return folder_; } ///< the parent of all runs
    const std::vector<Run>& runs() const { return runs_; }
    /// Whether the folders are still being read.
    bool isListing() const { return listing_.isRunning(); }
    /// One sentence for each folder that could not be read, and for each whose metrics are damaged.
    const QStringList& problems() const { return problems_; }
    /// @return -1 if it is not listed
    int rowOf(const QString& folder) const;
    /// The path of a folder that does not exist yet, named after the task: "sort", "sort-2".
    QString newFolder(const QString& task) const;
    /// Adds a run that is about to start to the list, and shows its curves.
    int add(const QString& folder, const Recipe& recipe);
    void append(const QString& folder, const std::vector<MetricPoint>& points);
    /// Adds a run in any folder, as it was recorded. @throws Error naming the file that cannot be read
    void addRecorded(const std::filesystem::path& folder);

    /// Takes a run that could not begin off the list. One with a folder stays.
    void withdraw(const QString& folder);
    /// Moves a run's folder aside. @return its new path, empty if it could not be moved
    QString putAside(int row);
    /// Moves a run back from the path that putAside() returned.
    bool restore(const QString& aside);
    /// @return whether the folder could be renamed
    bool rename(int row, const QString& name);
    void setShown(int row, bool shown);
    /// Marks the run that is training or was opened last; its name is highlighted.
    void setActive(const QString& folder);
    const QString& active() const { return active_; }
    /// Sets the run that the training session writes. It may differ from the active one.
    void setWritten(const QString& folder);
    /// Whether a run's folder must not move, because the run is active or being written.
    bool isInUse(const QString& folder) const { return folder == active_ || folder == written_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

signals:
    /// All folders have been read.
    void listed();
    void problemsChanged();
    /// The set of shown runs or their points have changed.
    void curvesChanged();
    void activeChanged(const QString& folder);
    void writtenChanged(const QString& folder);

private:
    struct Listing {
        std::vector<Run> runs; ///< oldest first
        QStringList problems;
    };
    static Listing read(const QStringList& folders, const std::atomic<bool>& isStopped);
    void addListed(Listing listing);
    void watch(const QString& run);     ///< a folder and its metrics
    void notice(const QString& folder); ///< in which another program has written
    void readChanged();                 ///< runs that are new or have changed, on another thread
    void takeChanged(Listing listing);
    void removeDeleted();
    int insert(Run run);
    Run take(int row); ///< off the list
    size_t freeSeries() const;

    QString folder_, active_, written_;
    QStringList problems_;
    std::vector<Run> runs_;
    std::map<QString, Run> aside_; ///< deleted runs, by the paths to which their folders were moved
    QFileSystemWatcher watcher_;   ///< of the parent and of every run
    QSet<QString> touched_;        ///< folders that have changed
    QTimer changed_;               ///< since the first of them
    BackgroundTask listing_, clearing_, reading_;
};

} // namespace attn
