#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QPushButton;
class QSlider;

namespace attn {

class HeadsGrid;

/// Shows the attention of the newest token in every head, and sets the gate of each head.
class HeadsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

private:
    void requestGate(int layer, int head, float gate);
    void showSelected();
    void showRows();
    void showGates();

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    HeadsGrid* grid_;
    QLabel *change_, *label_;
    QSlider* gate_;
    QLabel* value_;
    QPushButton *layerOff_, *restore_;
};

} // namespace attn
