#include "app/lab/panels/head_kinds_panel.h"

#include "app/lab/controls/head_table.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QLabel>
#include <QPushButton>

namespace attn {

HeadKindsPanel::HeadKindsPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), detect_(new QPushButton(tr("Find head kinds"))), measured_(makeHintLabel("kindMeasured")),
      message_(makeHintLabel("kindMessage")), heads_(new HeadTable("kind")) {
    named(detect_, "kindDetect", tr("Find the kind of each head"),
          tr("Score every head: on repeated random tokens and a short text, or on the picture and on the "
             "same picture with its patches shuffled"));
    makeColumn(this, spacing::kGap, {detect_, measured_, message_, {heads_, 1}});
    for (QLabel* label : {measured_, message_}) label->hide();
    connect(detect_, &QPushButton::clicked, this, &HeadKindsPanel::detect);
    connect(heads_, &HeadTable::headChosen, this,
            [this](int site, int head) { bench_.input().showHead(bench_, site, head); });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        if (snapshot_) setSnapshot(snapshot_);
        if (run == ShownRun::Difference && front_->isInFront() && found()) detect();
    });
    front_ = new FrontWatch(this, [this](bool) { detectIfNew(); });
}

std::shared_ptr<const HeadDetection> HeadKindsPanel::found() const {
    if (!snapshot_) return nullptr;
    return resultIn<HeadDetection>(snapshot_->analyses, HeadDetectionAnalysis{}.key());
}

bool HeadKindsPanel::isCurrent() const {
    const bool isOfInput = inputKind(*snapshot_).namesHeadsByInput();
    return found() && (!isOfInput || found()->inputVersion == snapshot_->sequenceVersion);
}

/// Names the heads of a model automatically when the panel first shows them, and on each new picture.
void HeadKindsPanel::detectIfNew() {
    if (!front_->isInFront() || !snapshot_ || !snapshot_->model || isCurrent()) return;
    const bool isOfInput = inputKind(*snapshot_).namesHeadsByInput();
    if (isOfInput ? !canAnalyse(*snapshot_) : snapshot_->status.activity != Activity::Idle) return;
    const uint64_t version = isOfInput ? snapshot_->sequenceVersion : 0;
    if (asked_ == snapshot_->model && askedVersion_ == version) return;
    asked_ = snapshot_->model;
    askedVersion_ = version;
    detect();
}

void HeadKindsPanel::detect() {
    if (snapshot_ && snapshot_->model) bench_.post(RunAnalysisCommand{std::make_shared<HeadDetectionAnalysis>()});
}

void HeadKindsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    const auto before = bench_.comparedAnalysis(*snapshot, HeadDetectionAnalysis{}.key());
    heads_->setDetection(found(), std::static_pointer_cast<const HeadDetection>(before), snapshot->model);
    const QString problem = failureIn(*snapshot, HeadDetectionAnalysis{}.key());
    message_->setText(problem);
    message_->setVisible(!problem.isEmpty());
    measured_->setText(inputKind(*snapshot).say(&InputWords::kindsMeasured));
    measured_->setVisible(found() != nullptr);
    detectIfNew();
}

ExportNumbers HeadKindsPanel::numbers() const { return heads_->numbers(); }

} // namespace attn
