#pragma once

#include "app/figures/distance_figure.h"
#include "app/figures/picture_run.h"
#include "app/figures/tiles_figure.h"

#include <memory>

namespace attn {

// Figures of a whole vision model, from its parameters and patterns. Without data, a figure shows what is missing.

/// @return the attention distance of every head  @param layer, head the chosen head; head < 0: none
/// @param original the run whose distances are subtracted; null: none
std::unique_ptr<DistanceFigure> distanceFigure(const PictureRun& run, int layer, int head,
                                               const PictureRun* original = nullptr);
/// @return the similarity of every patch's position embedding to all others, one tile per patch
std::unique_ptr<TilesFigure> positionsFigure(const PictureRun& run);
/// @return the principal components of the patch embedding's filters, or the filters themselves
std::unique_ptr<TilesFigure> filtersFigure(const PictureRun& run, bool showsRaw);

} // namespace attn
