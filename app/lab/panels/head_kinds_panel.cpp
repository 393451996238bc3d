#include "app/lab/panels/head_kinds_panel.h"

#include "app/lab/controls/head_map.h"
#include "app/lab/controls/head_table.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QLabel>
#include <QPushButton>
#include <QResizeEvent>
#include <QSplitter>

#include <utility>

namespace attn {

HeadKindsPanel::HeadKindsPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), detect_(new QPushButton(tr("Find head kinds"))), measured_(makeHintLabel("kindMeasured")),
      message_(makeHintLabel("kindMessage")), split_(new QSplitter), map_(new HeadMap("kind")),
      heads_(new HeadTable("kind")) {
    named(detect_, "kindDetect", tr("Find the kind of each head"),
          tr("Score every head: on repeated random tokens and a short text, or on the picture and on the "
             "same picture with its patches shuffled"));
    for (QWidget* part : std::initializer_list<QWidget*>{map_, heads_}) split_->addWidget(part);
    split_->setChildrenCollapsible(false);
    makeColumn(this, spacing::kGap, {detect_, measured_, message_, {split_, 1}});
    followTheme(bench_, &map_->view());
    for (QLabel* label : {measured_, message_}) label->hide();
    connect(detect_, &QPushButton::clicked, this, &HeadKindsPanel::detect);
    const auto choose = [this](int site, int head) { bench_.input().showHead(bench_, site, head); };
    connect(heads_, &HeadTable::headChosen, this, choose);
    connect(map_, &HeadMap::headChosen, this, choose);
    connect(map_, &HeadMap::scoreChosen, this, &HeadKindsPanel::show);
    connect(&bench_, &Workbench::selectionChanged, this,
            [this] { map_->setSelected(bench_.selection().site, bench_.selection().head); });
    connect(&bench_, &Workbench::headSelected, heads_, &HeadTable::showHead);
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        show();
        if (run != ShownRun::Difference || !front_->isInFront()) return;
        if (found()) detect();
        measuredVersion_ = 0;
        measureIfNew();
    });
    front_ = new FrontWatch(this, [this](bool) {
        detectIfNew();
        measureIfNew();
    });
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

/// Measures the heads on each new input, while the map shows a measure.
void HeadKindsPanel::measureIfNew() {
    if (!front_->isInFront() || !map_->showsMeasure() || !snapshot_ || !canAnalyse(*snapshot_)) return;
    if (snapshot_->status.activity != Activity::Idle) return; // a text that is being written changes with each token
    if (std::exchange(measuredVersion_, snapshot_->sequenceVersion) == snapshot_->sequenceVersion) return;
    bench_.post(RunAnalysisCommand{std::make_shared<HeadMeasuresAnalysis>()});
}

void HeadKindsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    show();
}

void HeadKindsPanel::show() {
    if (!snapshot_) return;
    const std::string kinds = HeadDetectionAnalysis{}.key(), measures = HeadMeasuresAnalysis{}.key();
    const auto before = std::static_pointer_cast<const HeadDetection>(bench_.comparedAnalysis(*snapshot_, kinds));
    heads_->setDetection(found(), before, snapshot_->model);
    auto measured = resultIn<HeadMeasures>(snapshot_->analyses, measures);
    if (measured && measured->inputVersion != snapshot_->sequenceVersion) measured = nullptr; // of another text
    const auto measuredBefore = bench_.comparedAnalysis(*snapshot_, measures);
    map_->setResults({.kinds = found(),
                      .kindsBefore = before,
                      .measures = measured,
                      .measuresBefore = std::static_pointer_cast<const HeadMeasures>(measuredBefore)},
                     snapshot_->model);
    map_->setSelected(bench_.selection().site, bench_.selection().head);
    const bool showsMeasure = map_->showsMeasure();
    const QString problem = failureIn(*snapshot_, showsMeasure ? measures : kinds);
    message_->setText(problem);
    message_->setVisible(!problem.isEmpty());
    const InputKind& input = inputKind(*snapshot_);
    QStringList sentences{showsMeasure ? map_->meaning() : input.say(&InputWords::kindsMeasured)};
    if (showsMeasure) sentences << tr("Measured on the %1 that is open.").arg(input.say(&InputWords::noun));
    measured_->setText(sentences.join(' '));
    measured_->setVisible(showsMeasure || found() != nullptr);
    detectIfNew();
    measureIfNew();
}

void HeadKindsPanel::resizeEvent(QResizeEvent* event) {
    Panel::resizeEvent(event);
    split_->setOrientation(width() > height() ? Qt::Horizontal : Qt::Vertical);
}

ExportNumbers HeadKindsPanel::numbers() const {
    return map_->showsMeasure() ? numbersOf(map_->figure()) : heads_->numbers();
}

} // namespace attn
