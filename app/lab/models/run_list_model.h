#pragma once

#include "engine/training/run.h"

#include <QAbstractTableModel>
#include <QColor>

#include <optional>
#include <vector>

namespace attn {

/// The training runs in one folder, each a folder of its own; their curves are read when they are shown.
class RunListModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { NameColumn, TaskColumn, StepColumn, LossColumn, MetricColumn, ColumnCount };

    struct Run {
        QString folder, name;
        Recipe recipe;
        std::vector<MetricPoint> points;
        bool isShown = false; ///< among the curves
        QColor colour;
    };

    /// @param folder of all runs; made when the first run starts
    explicit RunListModel(QString folder, QObject* parent = nullptr);

    const std::vector<Run>& runs() const { return runs_; }
    /// @return -1 if it is not listed
    int rowOf(const QString& folder) const;
    /// A folder that does not exist yet, named after the task: "sort", "sort-2".
    QString newFolder(const QString& task) const;
    /// Lists a run that is about to begin, or that lies elsewhere.
    int add(const QString& folder, const Recipe& recipe);
    void append(const QString& folder, const std::vector<MetricPoint>& points);

    /// Puts a run aside. @return where it lies now, empty if it could not be moved
    QString putAside(int row);
    /// Brings a run back from where putAside left it.
    bool bringBack(const QString& aside);
    /// @return whether the folder could be renamed
    bool rename(int row, const QString& name);
    void setShown(int row, bool shown);
    /// The run that trains or was opened last: its name stands out.
    void setActive(const QString& folder);
    const QString& active() const { return active_; }
    /// The run that the training session holds, which may be another than the one at hand.
    void setWritten(const QString& folder);
    /// Whether a run's folder must stay where it is: it is at hand, or being written to.
    bool isInUse(const QString& folder) const { return folder == active_ || folder == written_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

signals:
    /// What the curves show has changed: which runs, or their points.
    void curvesChanged();
    void activeChanged(const QString& folder);
    void writtenChanged(const QString& folder);

private:
    std::optional<Run> read(const QString& folder) const;
    int insert(Run run);
    QColor freeColour() const;

    QString folder_, active_, written_;
    std::vector<Run> runs_;
};

} // namespace attn
