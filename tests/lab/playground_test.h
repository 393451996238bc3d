#pragma once

#include "tests/lab/lab_window.h"

namespace attn {

inline const PlaygroundSnapshot& shown(LabWindow& lab) { return *lab.window().workbench().playground().snapshot(); }

/// Brings the playground to the front and waits for its first maps, and for the model, whose arrival moves widgets.
inline bool opens(LabWindow& lab) {
    lab.showPanel("playground");
    return lab.settle() && lab.waitFor([&] { return !shown(lab).maps.empty(); });
}

/// The window with the playground in front.
class PlaygroundWindow : public LabWindow {
public:
    PlaygroundWindow() { REQUIRE(opens(*this)); }
};

inline void type(QLineEdit& line, const char* text) {
    line.setFocus();
    line.selectAll();
    QTest::keyClicks(&line, text);
    QTest::keyClick(&line, Qt::Key_Return);
}

inline bool shows(LabWindow& lab, const char* spec) {
    return lab.waitFor([&] { return shown(lab).query.spec == AttentionSpec::parse(spec) && !shown(lab).maps.empty(); });
}

/// Types a spec, and waits for its maps.
inline void showSpec(LabWindow& lab, const char* spec) {
    type(lab.find<QLineEdit>("specText"), spec);
    REQUIRE(shows(lab, spec));
}

} // namespace attn
