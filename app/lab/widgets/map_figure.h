#pragma once

#include "app/figures/matrix_figure.h"
#include "engine/session/playground_session.h"

namespace attn {

/// A map of the playground as a figure: what it is, its colours and its axes.
/// @param head, plane which of the map's matrices
MatrixFigure mapFigure(const PlaygroundMap& map, const AttentionSpec& spec, int head, int plane);

} // namespace attn
