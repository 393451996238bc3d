#pragma once

#include "app/figures/matrix_figure.h"
#include "engine/session/playground_session.h"

namespace attn {

/// A map of the playground as a figure: what it is, its colours and its axes.
/// @param head, plane which of the map's matrices  @param labels of the tokens, for the axes that count them; may be
/// empty
MatrixFigure mapFigure(const PlaygroundMap& map, const AttentionSpec& spec, int head, int plane,
                       const std::vector<QString>& labels = {});
/// What such a map is called; its name where it has no other.
QString mapTitle(const std::string& name);
/// "0.25", or a word where the number is none.
QString valueText(const MatrixFigure& figure, const Cell& cell);
/// What stands in a cell: "Pattern: query i = 3, key j = 1: 0.25".
QString readingOf(const MatrixFigure& figure, const Cell& cell);

} // namespace attn
