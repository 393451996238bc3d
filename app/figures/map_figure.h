#pragma once

#include "app/figures/matrix_figure.h"
#include "engine/playground/playground_map.h"

namespace attn {

/// @return a figure of a map of the playground, with title, note, colours and axes
/// @param head, plane the matrix of the map to show  @param labels of the tokens, for axes of tokens; may be empty
MatrixFigure mapFigure(const PlaygroundMap& map, const AttentionSpec& spec, int head, int plane,
                       const std::vector<QString>& labels = {});
/// @return the title of a map, "Position bias" for "position.bias"; the name itself if it has no title
QString mapTitle(const std::string& name);
/// @return "0.25", "25.0 %", or a word if the cell has no number
QString valueText(const MatrixFigure& figure, const MatrixCell& cell);
/// @return "query i = 3, key j = 1", or "after layer 3, token 12 “all”" if rows have labels
QString placeOf(const MatrixFigure& figure, const MatrixCell& cell);
/// @return the reading of a cell: "Pattern: query i = 3, key j = 1: 0.25"
QString readingOf(const MatrixFigure& figure, const MatrixCell& cell);

} // namespace attn
