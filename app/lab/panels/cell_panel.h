#pragma once

#include "app/lab/workbench/panel.h"

class QSpinBox;

namespace attn {

class CellView;

/// Shows the arithmetic of one cell, chosen in a heatmap or by its query and key numbers.
class CellPanel : public Panel {
    Q_OBJECT

public:
    explicit CellPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

private:
    void ask();
    void showExplanation();
    void showSelection();

    std::shared_ptr<const Snapshot> snapshot_;
    QSpinBox *query_, *key_;
    CellView* view_;
};

} // namespace attn
