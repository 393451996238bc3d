#include "app/lab/panels/branches_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/models/branch_tree_model.h"
#include "app/lab/widgets/lock_note.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/undo_commands.h"

#include <QTreeView>

namespace attn {

BranchesPanel::BranchesPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), model_(new BranchTreeModel(this)), tree_(new QTreeView(this)), hint_(makeHintLabel()) {
    makeColumn(
        this, spacing::kGap,
        {hint_, LockNote::make("branchesLocked", tr("A lock hides the branches of the text."), tree_), {tree_, 1}});
    for (QWidget* part : std::initializer_list<QWidget*>{hint_, tree_}) assignControlGroup(part, "branches");
    hint_->setText(tr("Each row is a stretch of text. A fork marks where another token was chosen. Click a row to "
                      "continue from its end."));
    named(tree_, "branchTree", tr("Branches"),
          tr("All texts written since the prompt was set. Click a row to continue from its end."));
    tree_->setModel(model_);
    tree_->setUniformRowHeights(true);
    tree_->setTextElideMode(Qt::ElideMiddle);
    fitColumns(*tree_, BranchTreeModel::TextColumn);
    connect(model_, &QAbstractItemModel::modelReset, tree_, &QTreeView::expandAll);
    connect(tree_, &QTreeView::clicked, this, &BranchesPanel::goTo);
    connect(tree_, &QTreeView::activated, this, &BranchesPanel::goTo);
}

void BranchesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNew = !snapshot_ || snapshot_->branches != snapshot->branches;
    snapshot_ = snapshot;
    setEnabled(!snapshot->unread); // the tree may be locked
    if (!isNew) return;
    model_->setTree(snapshot->branches);
    if (const QModelIndex current = model_->currentRow(); current.isValid()) tree_->scrollTo(current);
}

void BranchesPanel::goTo(const QModelIndex& index) {
    if (!index.isValid() || !snapshot_ || !snapshot_->branches || bench_.isTextGone()) return;
    const int node = index.data(BranchTreeModel::NodeRole).toInt();
    if (node == snapshot_->branches->current) return;
    bench_.undoStack().push(new BranchMove(bench_.poster(), snapshot_->branches->current, GoToBranchCommand{node},
                                           tr("moving to another branch")));
}

} // namespace attn
