#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/workbench.h"

namespace attn {

class PointedView;

/// A figure with one item for each head of a vision model: where the selected patch looks in every head, or how far
/// each head looks.
class PictureHeads : public Panel {
    Q_OBJECT

public:
    enum class Kind { Overlays, Distances };
    PictureHeads(Kind kind, Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

private:
    void show();

    Kind kind_;
    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    PointedView* view_;
};

} // namespace attn
