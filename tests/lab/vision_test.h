#pragma once

#include "app/lab/panels/vision_panel.h"
#include "tests/lab/lab_window.h"
#include "tests/support/catch.h"

namespace attn {

inline VisionPanel& panel(LabWindow& lab) {
    auto* found = lab.window().findChild<VisionPanel*>();
    REQUIRE(found);
    return *found;
}

/// Until the picture that was asked for is open, or was refused.
inline bool reads(LabWindow& lab) {
    return lab.waitFor([&] { return !panel(lab).isReading(); });
}

} // namespace attn
