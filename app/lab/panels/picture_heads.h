#pragma once

#include "app/lab/widgets/pointed_view.h"
#include "app/lab/workbench/workbench.h"

namespace attn {

/// A figure with one item for each head of a vision model: where the selected patch looks in every head, or how far
/// each head looks. It follows the workbench, and a click selects a head.
class PictureHeads : public PointedView {
    Q_OBJECT

public:
    enum class Kind { Overlays, Distances };
    PictureHeads(const char* id, Kind kind, Workbench& bench);

private:
    void show();

    Kind kind_;
    Workbench& bench_;
};

} // namespace attn
