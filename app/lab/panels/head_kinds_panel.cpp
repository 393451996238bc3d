#include "app/lab/panels/head_kinds_panel.h"

#include "app/lab/controls/head_table.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/picture_bench.h"
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
    connect(heads_, &HeadTable::headChosen, this, [this](int site, int head) {
        if (bench_.readsPictures())
            bench_.pictures().showHead(site, head);
        else
            bench_.selectHead(site, head);
    });
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
    return found() && (!snapshot_->readsPictures() || found()->inputVersion == snapshot_->sequenceVersion);
}

/// Names the heads of a model automatically when the panel first shows them, and on each new picture.
void HeadKindsPanel::detectIfNew() {
    if (!front_->isInFront() || !snapshot_ || !snapshot_->model || isCurrent()) return;
    if (snapshot_->readsPictures() ? !snapshot_->answer : snapshot_->status.activity != Activity::Idle) return;
    const uint64_t version = snapshot_->readsPictures() ? snapshot_->sequenceVersion : 0;
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
    measured_->setText(snapshot->readsPictures() ? tr("Measured on the picture, and on it with its patches shuffled.")
                                                 : tr("Measured on repeated random tokens and a short text of the "
                                                      "program's own, not on the prompt."));
    measured_->setVisible(found() != nullptr);
    detectIfNew();
}

ExportNumbers HeadKindsPanel::numbers() const { return heads_->numbers(); }

} // namespace attn
