#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/models/run_list_model.h"
#include "engine/analysis/weight_changes.h"

#include <QWidget>

#include <vector>

class QLabel;
class QPushButton;
class QTreeWidget;

namespace attn {

class WholeRows;

/// How training has changed the attention of a run that started from a model: a row for each site, a column for each
/// matrix. Hidden for other runs.
class StartComparison : public QWidget {
    Q_OBJECT

public:
    explicit StartComparison(QWidget* parent = nullptr);

    /// @param run null: none  @param checkpoints number of checkpoints so far: each gives other numbers
    void showRun(const RunListModel::Run* run, uint64_t checkpoints);

signals:
    /// The run and its starting model are to be shown side by side.
    void comparisonRequested();

private:
    void show(const std::vector<SiteChange>& changes);

    QLabel* text_;
    QTreeWidget* table_;
    WholeRows* rows_; ///< of the table
    BackgroundTask reading_;
    std::pair<QString, uint64_t> shown_; ///< run and checkpoints
};

} // namespace attn
