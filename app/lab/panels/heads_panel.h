#pragma once

#include "app/lab/workbench/panel_context.h"

#include <functional>

class QLabel;
class QPushButton;
class QSlider;

namespace attn {

class HeadsGrid;

/// Shows the attention of the newest token in every head, and sets the gate of each head.
class HeadsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadsPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;
    /// Sets a function that is called before a gate changes.
    /// @param call returns the gates in force, [layers, heads]; empty: the gates of the last snapshot
    void setBeforeChange(std::function<std::vector<float>()> call) { beforeChange_ = std::move(call); }

private:
    void requestGate(int layer, int head, float gate);
    void showSelected();
    void showRows();

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::function<std::vector<float>()> beforeChange_;
    HeadsGrid* grid_;
    QLabel *change_, *label_;
    QSlider* gate_;
    QLabel* value_;
    QPushButton *layerOff_, *restore_;
};

} // namespace attn
