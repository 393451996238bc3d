#pragma once

#include "app/lab/workbench/workbench.h"

#include <QWidget>

class QLabel;
class QSlider;

namespace attn {

/// Shows and sets the gate of the selected head.
class GateSlider : public QWidget {
    Q_OBJECT

public:
    /// @param id the name of the slider
    GateSlider(const char* id, Workbench& bench);

private:
    void show();

    Workbench& bench_;
    QLabel *head_, *value_;
    QSlider* gate_;
};

} // namespace attn
