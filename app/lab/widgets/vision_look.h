#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "engine/session/patch_row.h"
#include "engine/session/vision_session.h"

namespace attn {

/// What of a vision model's answer is laid over its picture, and how. The same for two models that are compared.
struct VisionLook {
    enum Head { Mean = -1, Maximum = -2 };

    bool isRollout = false;
    int layer = 0;
    int head = Mean;            ///< a head, or one of the enumerators
    std::optional<int> patch{}; ///< whose look it is; none: the token before the patches, else the mean of all patches
    ColourMapId colours = ColourMapId::Viridis;
    double opacity = 0.6;
    bool isSmooth = false;
};

/// The token that looks; none: the mean of all patches.
std::optional<int> tokenOf(const VisionInfo& info, std::optional<int> patch);
/// What the look shows; no patches where the model forms no such map.
PatchRow rowOf(const VisionSnapshot& snapshot, const VisionLook& look);
/// What the model saw, with what is hidden from it in grey. The snapshot has an answer.
QImage shownPicture(const VisionSnapshot& snapshot);
/// Empty where there is no answer.
PatchOverlayFigure overlayFigure(const VisionSnapshot& snapshot, const VisionLook& look);
/// The snapshot of the model as it is unchanged; the same where nothing is changed.
std::shared_ptr<const VisionSnapshot> uneditedSnapshot(const std::shared_ptr<const VisionSnapshot>& snapshot);
/// With the changes of the model less without them.
PatchOverlayFigure differenceFigure(const std::shared_ptr<const VisionSnapshot>& snapshot, const VisionLook& look);

} // namespace attn
