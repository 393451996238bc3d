#pragma once

#include "app/figures/axis_display.h"
#include "app/figures/distance_figure.h"
#include "app/figures/head_overlays_figure.h"
#include "app/figures/tiles_figure.h"
#include "engine/analysis/patch_row.h"

#include <memory>

namespace attn {

/// Which part of a run is shown over its picture, and how. Two compared models share it.
struct VisionLook {
    enum Head { Mean = -1, Maximum = -2 };

    bool isRollout = false;
    int site = 0;
    int head = Mean;            ///< a head, or one of the enumerators
    std::optional<int> patch{}; ///< the query; none: the token before the patches, or the mean of all patches
    bool isMean = false;        ///< without a patch: the mean of all patches, even if there is a token before them
    ColourMapId colours = ColourMapId::Viridis;
    double opacity = 0.6;
    bool isSmooth = false;
};

/// @return the attention weights for the look; no patches if the model forms no such pattern
PatchRow rowOf(const PictureRun& run, const VisionLook& look);
/// @return the overlay of a look; empty if there is no run
PatchOverlayFigure overlayFigure(const PictureRun& run, const VisionLook& look);
/// @return the overlays of all heads, ignoring the head of the look; empty if there is no run
/// @param original the run whose patterns are subtracted; null: none
HeadOverlaysFigure headOverlaysFigure(const PictureRun& run, const VisionLook& look,
                                      const PictureRun* original = nullptr);
/// @return the overlay of the changed run minus the original run
PatchOverlayFigure differenceFigure(const PictureRun& changed, const PictureRun& original, const VisionLook& look);

// Figures of a whole vision model, from its parameters and patterns. Without data, a figure shows a message.

/// @return the attention distance of every head  @param layer, head the chosen head; head < 0: none
/// @param original the run whose distances are subtracted; null: none
std::unique_ptr<DistanceFigure> distanceFigure(const PictureRun& run, int layer, int head,
                                               const PictureRun* original = nullptr);
/// @return the similarity of every patch's position embedding to all others, one tile per patch
std::unique_ptr<TilesFigure> positionsFigure(const PictureRun& run);
/// @return the principal components of the patch embedding's filters, or the filters themselves
std::unique_ptr<TilesFigure> filtersFigure(const PictureRun& run, bool showsRaw);

} // namespace attn
