#include "app/lab/panels/branches_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/models/branch_tree_model.h"
#include "app/lab/workbench/undo_commands.h"

#include <QHeaderView>
#include <QLabel>
#include <QTreeView>
#include <QVBoxLayout>

namespace attn {

BranchesPanel::BranchesPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), model_(new BranchTreeModel(this)), tree_(new QTreeView(this)),
      hint_(new QLabel(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(hint_);
    column->addWidget(tree_, 1);
    assignControlGroup(tree_, "branches");
    hint_->setProperty("hint", true);
    hint_->setWordWrap(true);
    hint_->setText(tr("Each row is a stretch of text. A fork marks where another token was chosen. Click a row to "
                      "continue from its end."));
    tree_->setObjectName("branchTree");
    tree_->setAccessibleName(tr("Branches"));
    tree_->setToolTip(tr("All texts written since the prompt was set. Click a row to continue from its end."));
    tree_->setModel(model_);
    tree_->setUniformRowHeights(true);
    tree_->setTextElideMode(Qt::ElideMiddle);
    tree_->header()->setStretchLastSection(false);
    tree_->header()->setSectionResizeMode(BranchTreeModel::TextColumn, QHeaderView::Stretch);
    tree_->header()->setSectionResizeMode(BranchTreeModel::ProbabilityColumn, QHeaderView::ResizeToContents);
    connect(model_, &QAbstractItemModel::modelReset, tree_, &QTreeView::expandAll);
    connect(tree_, &QTreeView::clicked, this, &BranchesPanel::goTo);
    connect(tree_, &QTreeView::activated, this, &BranchesPanel::goTo);
}

void BranchesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNew = !snapshot_ || snapshot_->branches != snapshot->branches;
    snapshot_ = snapshot;
    if (!isNew) return;
    model_->setTree(snapshot->branches);
    if (const QModelIndex current = model_->currentRow(); current.isValid()) tree_->scrollTo(current);
}

void BranchesPanel::goTo(const QModelIndex& index) {
    if (!index.isValid() || !snapshot_ || !snapshot_->branches) return;
    const int node = index.data(BranchTreeModel::NodeRole).toInt();
    if (node == snapshot_->branches->current) return;
    bench_.undoStack().push(new BranchMove(bench_.poster(), snapshot_->branches->current, GoToBranchCommand{node},
                                           tr("moving to another branch")));
}

} // namespace attn
