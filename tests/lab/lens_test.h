#pragma once

#include "tests/lab/lab_window.h"

#include <algorithm>

namespace attn {

/// Runs the lens in front by its button. A quick lens that began when the panel came to the front ends first: until
/// then, the button says Stop and would stop that one.
inline void runLens(LabWindow& lab) {
    REQUIRE(lab.settle());
    REQUIRE(lab.find<QPushButton>("lensRun").text() == "Run");
    lab.click("lensRun");
}

/// Waits until the lens in front says why it cannot answer.
inline bool lensRefuses(LabWindow& lab, const char* reason) {
    return lab.waitFor([&] {
        const auto labels = lab.find<QWidget>("lensAnswer").findChildren<QLabel*>();
        return std::ranges::any_of(labels, [&](QLabel* each) { return each->text().contains(reason); });
    });
}

inline constexpr const char* kNoSpans = "no head of this model has a span";

} // namespace attn
