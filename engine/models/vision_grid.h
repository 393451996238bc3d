#pragma once

#include "engine/models/vision_config.h"

namespace attn {

/// Whether a part of a composition knows the grid of a picture.
bool knowsGrid(const AttentionSpec& spec);

/// Sets the rows and columns of the parts that know a grid, and the number of tokens before it.
void setGrid(AttentionSpec& spec, const ImageSize& grid, int64_t leading = 0);

/// Tells the parts of each layer that know a grid how many tokens come before the patches.
void placeOnGrid(VisionConfig& config);

/// Checks that the parts of each layer that know a grid have that of the layer. Windows have grids of their own.
/// @throws Error naming the part, its grid and the layer's
void requireGrid(const VisionConfig& config);

} // namespace attn
