#pragma once

#include "app/figures/distance_figure.h"
#include "app/figures/tiles_figure.h"
#include "engine/session/vision_session.h"

#include <memory>

namespace attn {

// What a vision model's weights and patterns tell of the whole model, as figures. All say what is missing where there
// is nothing to show.

/// How far every head looks. @param layer, head the chosen one; a negative head: none
std::unique_ptr<DistanceFigure> distanceFigure(const VisionSnapshot& snapshot, int layer, int head);
/// Of every patch's position the similarity to all others, in the grid of the patches.
std::unique_ptr<TilesFigure> positionsFigure(const VisionSnapshot& snapshot);
/// The embedding's filters: their principal components, or the filters themselves.
std::unique_ptr<TilesFigure> filtersFigure(const VisionSnapshot& snapshot, bool showsRaw);

} // namespace attn
