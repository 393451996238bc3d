#include "app/lab/panels/head_kinds_panel.h"

#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/head_table.h"

#include <QPushButton>
#include <QVBoxLayout>

namespace attn {

HeadKindsPanel::HeadKindsPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), detect_(new QPushButton(tr("Find head kinds"))), heads_(new HeadTable("kind")) {
    detect_->setObjectName("kindDetect");
    detect_->setAccessibleName(tr("Find the kind of each head"));
    detect_->setToolTip(tr("Run the model on repeated random tokens and on a short text, and score every head"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(detect_);
    column->addWidget(heads_, 1);
    connect(detect_, &QPushButton::clicked, this, &HeadKindsPanel::detect);
    connect(heads_, &HeadTable::headChosen, &bench_, &Workbench::selectHead);
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        if (snapshot_) setSnapshot(snapshot_);
        if (run == ShownRun::Difference && front_->isInFront() && isKnown()) detect();
    });
    front_ = new FrontWatch(this, [this](bool) { detectIfNew(); });
}

bool HeadKindsPanel::isKnown() const {
    return snapshot_ && snapshot_->analyses.contains(HeadDetectionAnalysis{}.key());
}

/// Names the heads of a model automatically when the panel first shows them.
void HeadKindsPanel::detectIfNew() {
    if (!front_->isInFront() || isKnown() || !snapshot_ || !snapshot_->model || asked_ == snapshot_->model) return;
    if (snapshot_->status.activity != Activity::Idle) return;
    asked_ = snapshot_->model;
    detect();
}

void HeadKindsPanel::detect() {
    if (snapshot_ && snapshot_->model) bench_.post(RunAnalysisCommand{std::make_shared<HeadDetectionAnalysis>()});
}

void HeadKindsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    const std::string key = HeadDetectionAnalysis{}.key();
    const auto found = snapshot->analyses.find(key);
    heads_->setDetection(
        found == snapshot->analyses.end() ? nullptr : std::static_pointer_cast<const HeadDetection>(found->second),
        std::static_pointer_cast<const HeadDetection>(bench_.comparedAnalysis(*snapshot, key)), snapshot->model);
    detectIfNew();
}

ExportNumbers HeadKindsPanel::numbers() const { return heads_->numbers(); }

} // namespace attn
