#pragma once

#include "tests/lab/lab_window.h"

namespace attn {

inline const TrainingSnapshot& training(LabWindow& lab) { return *lab.window().workbench().training().snapshot(); }

inline bool trainsToItsEnd(LabWindow& lab) {
    return lab.waitFor([&] { return training(lab).state == TrainingSnapshot::State::Finished; }) && lab.settle();
}

} // namespace attn
