#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QStackedWidget;
class QTreeView;

namespace attn {

class BranchTreeModel;

/// Shows all texts written since the prompt was set, as a tree.
class BranchesPanel : public Panel {
    Q_OBJECT

public:
    explicit BranchesPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;

private:
    void goTo(const QModelIndex& index);

    std::shared_ptr<const Snapshot> snapshot_;
    BranchTreeModel* model_;
    QTreeView* tree_;
    QLabel* hint_;
};

} // namespace attn
