#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/workbench/panel.h"

class QLabel;
class QPushButton;
class QTreeView;

namespace attn {

class EmptyState;
class StartComparison;

/// Lists the training runs: ticks choose the curves to compare, and one run is open.
class RunsPanel : public Panel {
    Q_OBJECT

public:
    explicit RunsPanel(Workbench& bench, QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent* event) override;

private:
    void fitHeader(); ///< columns as wide as the present font needs
    void open(int row);
    void duplicate();
    void remove();
    int selectedRow() const;
    int shownRow() const; ///< the selected run, or else the open one; -1: none
    void compareWithStart();
    void updateButtons();
    void showStart(); ///< what training changed in the selected run, or in the open one

    BackgroundTask listing_;
    EmptyState* empty_;
    QTreeView* table_;
    QLabel* hint_;
    StartComparison* start_;
    QPushButton *open_, *duplicate_, *delete_;
};

} // namespace attn
