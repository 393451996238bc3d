#pragma once

#include "engine/models/model_spec.h"

namespace attn {

/// Whether a part of a composition knows the grid of a picture.
bool knowsGrid(const AttentionSpec& spec);

/// The blocks of the grid in whose order a picture is written; 1 x 1 if row by row.
ImageSize blockOf(const WrittenPicture& picture);
/// The blocks that a mask of a composition expects.
ImageSize blockOf(const AttentionSpec& spec);

/// Sets the rows and columns of the parts that know a grid, and the number of tokens before it.
/// @param block those in whose order the picture is written, also in masks with blocks of their own; 1 x 1: row by row
void setGrid(AttentionSpec& spec, const ImageSize& grid, int64_t leading = 0, const ImageSize& block = {1, 1});

/// Tells the parts of each layer that know a grid how many tokens come before the patches.
void placeOnGrid(ModelSpec& config);

/// Checks that the parts of each layer that know a grid have that of the layer, or that of the picture which the model
/// writes, and its order. Windows have grids of their own. @throws Error naming the part and the grid that fits
void requireGrid(const ModelSpec& config);

} // namespace attn
