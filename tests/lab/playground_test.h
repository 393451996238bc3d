#pragma once

#include "tests/lab/lab_window.h"

#include <QLineEdit>

namespace attn {

inline const PlaygroundSnapshot& shown(LabWindow& lab) { return *lab.window().workbench().playground().snapshot(); }

/// Brings the playground to the front and waits for its first maps, and for the model, whose arrival moves widgets.
inline bool opens(LabWindow& lab) {
    lab.showPanel("playground");
    return lab.settle() && lab.waitFor([&] { return !shown(lab).maps.empty(); }, 30'000);
}

inline void type(QLineEdit& line, const char* text) {
    line.setFocus();
    line.selectAll();
    QTest::keyClicks(&line, text);
    QTest::keyClick(&line, Qt::Key_Return);
}

inline bool shows(LabWindow& lab, const char* spec) {
    return lab.waitFor([&] { return shown(lab).query.spec == AttentionSpec::parse(spec) && !shown(lab).maps.empty(); },
                       30'000);
}

} // namespace attn
