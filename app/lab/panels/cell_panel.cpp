#include "app/lab/panels/cell_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"

#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>

namespace attn {

CellPanel::CellPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), query_(new WholeBox), key_(new WholeBox), view_(new CellView(this)) {
    auto* row = new FlowLayout;
    const auto addSpin = [&](QSpinBox* spin, const char* name, const QString& title, const QString& toolTip) {
        named(spin, name, toolTip);
        spin->setRange(0, 0);
        spin->setEnabled(false);
        row->addWidget(labelFor(spin, title));
        row->addWidget(spin);
        connect(spin, &QSpinBox::valueChanged, this, [this] { ask(); });
    };
    addSpin(query_, "cellQuery", tr("&Query"), tr("Position of the token that looks"));
    addSpin(key_, "cellKey", tr("&Key"), tr("Position of the token that is looked at"));
    makeColumn(this, spacing::kGap, {row, {view_, 1}});

    connect(&bench_, &Workbench::selectionChanged, this, &CellPanel::showSelection);
    connect(&bench_, &Workbench::shownRunChanged, this, &CellPanel::showExplanation);
    followTheme(bench_, view_);
}

void CellPanel::ask() { bench_.selectCell(Cell{query_->value(), key_->value()}); }

void CellPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewSequence = !snapshot_ || snapshot_->sequence != snapshot->sequence;
    snapshot_ = snapshot;
    if (isNewSequence) showSelection();
    showExplanation();
}

void CellPanel::showSelection() {
    const QSignalBlocker quietQuery(query_), quietKey(key_);
    for (const auto& [spin, count] : {std::pair(query_, bench_.queryCount()), std::pair(key_, bench_.keyCount())}) {
        spin->setRange(0, std::max(0, count - 1));
        spin->setEnabled(count > 0);
    }
    const auto& cell = bench_.selection().cell;
    if (!cell) return;
    query_->setValue(cell->query);
    key_->setValue(cell->key);
}

void CellPanel::showExplanation() {
    if (!snapshot_) return;
    const OriginalViews* compared = bench_.compared(*snapshot_);
    const auto& shown = snapshot_->explanation;
    const int site = shown ? shown->site : bench_.selection().site;
    view_->setLabels(tokenLabels(snapshot_->queries(site)), tokenLabels(snapshot_->keys(site)), bench_.siteLabel(site));
    if (const auto& cell = snapshot_->explanation)
        view_->setCondition(bench_.conditionOf(cell->site, cell->head),
                            static_cast<double>(bench_.shownShare(cell->site, cell->head)));
    view_->setExplanation(snapshot_->explanation, compared ? compared->explanation : nullptr);
}

QWidget* CellPanel::figure() { return view_; }

ExportNumbers CellPanel::numbers() const { return numbersOf(view_->figure()); }

} // namespace attn
