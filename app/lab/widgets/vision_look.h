#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "engine/analysis/patch_row.h"
#include "engine/session/vision_session.h"

namespace attn {

/// What to show of a vision model's answer over its picture, and how. Two models that are compared share it.
struct VisionLook {
    enum Head { Mean = -1, Maximum = -2 };

    bool isRollout = false;
    int site = 0;
    int head = Mean;            ///< a head, or one of the enumerators
    std::optional<int> patch{}; ///< the query; none: the token before the patches, or the mean of all patches
    ColourMapId colours = ColourMapId::Viridis;
    double opacity = 0.6;
    bool isSmooth = false;
};

/// @return the query token of a look; none: the mean of all patches
std::optional<int> tokenOf(const ModelInfo& info, std::optional<int> patch);
/// @return the attention weights that the look shows; no patches if the model forms no such pattern
PatchRow rowOf(const VisionSnapshot& snapshot, const VisionLook& look);
/// @return the picture as the model read it, with hidden patches in grey  @pre the snapshot has an answer
QImage shownPicture(const VisionSnapshot& snapshot);
/// @return the overlay of a look; empty if there is no answer
PatchOverlayFigure overlayFigure(const VisionSnapshot& snapshot, const VisionLook& look);
/// @return the snapshot of the original run; the same snapshot if there are no changes
std::shared_ptr<const VisionSnapshot> uneditedSnapshot(const std::shared_ptr<const VisionSnapshot>& snapshot);
/// @return the overlay of the difference, changed minus original
PatchOverlayFigure differenceFigure(const std::shared_ptr<const VisionSnapshot>& snapshot, const VisionLook& look);

} // namespace attn
