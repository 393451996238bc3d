#pragma once

#include "app/lab/panels/panel_context.h"

#include <functional>

class QLabel;
class QPushButton;
class QSlider;

namespace attn {

class HeadsGrid;

/// Where every head looks from the newest token, and how much of each head is let through.
class HeadsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadsPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    /// Called before a gate is changed. @return what gates are by then, [layers, heads]; empty: as they are shown
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
