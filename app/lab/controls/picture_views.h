#pragma once

#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/pointed_view.h"
#include "app/lab/workbench/workbench.h"

namespace attn {

/// Attention over the picture that the model reads. It follows the workbench, and what is clicked or dragged in it
/// counts in every other view of the picture.
class PictureView : public PatchOverlayView {
    Q_OBJECT

public:
    /// @param showsHead always the selected head; otherwise what the Attention panel shows, such as a mean or a rollout
    PictureView(const char* id, bool showsHead, Workbench& bench);

private:
    void show();

    Workbench& bench_;
    bool showsHead_;
};

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
