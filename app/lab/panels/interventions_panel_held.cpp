#include "app/lab/panels/interventions_panel.h"

#include <QComboBox>
#include <QSignalBlocker>

#include <utility>

// Switches between the original and the changed run.

namespace attn {

std::vector<float> InterventionsPanel::gates() const {
    if (held_) return held_->gates;
    return snapshot_ && snapshot_->headGates ? *snapshot_->headGates : std::vector<float>();
}

void InterventionsPanel::postGates(const std::vector<float>& gates) const {
    const int heads = snapshot_->model->heads;
    for (size_t at = 0; at < gates.size(); ++at)
        if (gates[at] != 1)
            context_.post(SetHeadGateCommand{static_cast<int>(at) / heads, static_cast<int>(at) % heads, gates[at]});
}

void InterventionsPanel::show(ShownRun run) {
    if (run == context_.shownRun() || !snapshot_ || !snapshot_->model) return;
    setHeld(run == ShownRun::Before);
    announce(run);
    showList();
}

void InterventionsPanel::setHeld(bool isHeld) {
    if (isHeld == held_.has_value()) return;
    if (isHeld) {
        held_ = Held{edits(), gates()};
        context_.post(SetHeadGateCommand{-1, -1, 1});
        context_.post(SetEditsCommand{std::make_shared<const Changes>()});
    } else {
        const Held held = *std::exchange(held_, std::nullopt);
        postGates(held.gates);
        context_.post(SetEditsCommand{std::make_shared<const Changes>(held.edits)});
    }
}

std::vector<float> InterventionsPanel::bringBack() {
    if (!held_) return {};
    std::vector<float> gates = held_->gates;
    show(ShownRun::After);
    return gates;
}

/// Forgets held changes, because other changes are in force by now.
void InterventionsPanel::dropHeld() {
    held_.reset();
    if (context_.shownRun() != ShownRun::After) announce(ShownRun::After);
}

void InterventionsPanel::announce(ShownRun run) {
    const QSignalBlocker quiet(run_);
    run_->setCurrentIndex(static_cast<int>(run));
    context_.post(WantUneditedCommand{run == ShownRun::Difference});
    context_.setShownRun(run);
}

} // namespace attn
