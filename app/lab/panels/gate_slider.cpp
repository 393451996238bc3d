#include "app/lab/panels/gate_slider.h"

#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/widget_makers.h"

#include <QSignalBlocker>
#include <QSlider>

namespace attn {
namespace {
constexpr int kGateSteps = 100;
}

GateSlider::GateSlider(const char* id, Workbench& bench)
    : bench_(bench), head_(plainLabel()), value_(plainLabel()), gate_(new QSlider(Qt::Horizontal)) {
    named(gate_, id, tr("Gate of the selected head"));
    gate_->setRange(0, kGateSteps);
    gate_->setValue(kGateSteps);
    keepWidthOf(value_, QStringLiteral("0.00 "));
    makeRow(this, 0, {head_, {gate_, 1}, value_});
    connect(gate_, &QSlider::valueChanged, this, [this](int step) {
        bench_.setGate(bench_.selection().site, bench_.selection().head, static_cast<float>(step) / kGateSteps);
    });
    for (const auto signal : {&Workbench::changesChanged, &Workbench::selectionChanged})
        connect(&bench_, signal, this, &GateSlider::show);
    connect(&bench_, &Workbench::shownRunChanged, this, &GateSlider::show);
    connect(&bench_, &Workbench::snapshotChanged, this, &GateSlider::show);
    show();
}

void GateSlider::show() {
    const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
    const bool hasHead = bench_.hasModel() && site < bench_.snapshot()->model->siteCount() &&
                         head < bench_.snapshot()->model->site(site).heads;
    head_->setText(bench_.hasModel() ? bench_.headLabel(site, head) : tr("No model"));
    const float share = bench_.shownShare(site, head), set = bench_.shownGate(site, head);
    const bool isRemoved = set > 0 && share == 0; // by another change, so no gate has an effect
    const float gate = isRemoved ? share : set;
    setEnabled(hasHead && !isRemoved);
    gate_->setToolTip(isRemoved
                          ? tr("A change removes this head. To set its gate, remove that change in the Changes panel.")
                          : tr("0 removes the head's output, 1 keeps all of it. The model was trained with 1 only."));
    value_->setText(isRemoved ? tr("removed") : QString::number(static_cast<double>(gate), 'f', 2));
    if (gate_->isSliderDown()) return; // during a drag the slider is ahead of the run
    const QSignalBlocker quiet(gate_);
    gate_->setValue(qRound(gate * kGateSteps));
}

} // namespace attn
