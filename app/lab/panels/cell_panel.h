#pragma once

#include "app/lab/workbench/panel_context.h"

class QSpinBox;

namespace attn {

class CellView;

/// Shows the arithmetic of one cell, chosen in a heatmap or by its query and key numbers.
class CellPanel : public Panel {
    Q_OBJECT

public:
    explicit CellPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

private:
    void ask();
    void showExplanation();

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const CellExplanation> explanation_;
    int layer_ = 0, head_ = 0;
    QSpinBox *query_, *key_;
    CellView* view_;
};

} // namespace attn
