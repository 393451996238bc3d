#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "engine/inference/sequence.h"
#include "engine/models/written_picture.h"

#include <span>

namespace attn {

/// The part of a picture that is written, covered with the attention of one query, and a frame around the pixel that
/// the query writes.
/// @param query index of a token
/// @param weights attention of the query to each token; empty: unknown
PatchOverlayFigure writtenPictureFigure(const WrittenPicture& layout, std::span<const TokenInfo> tokens, int query,
                                        std::span<const float> weights);

/// The query that writes the first value of a pixel.
int queryOfPixel(const WrittenPicture& layout, int pixel);

} // namespace attn
