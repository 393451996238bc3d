#pragma once

#include "engine/inference/pattern_views.h"

namespace attn {

class LanguageModel;

/// The arithmetic of a cell, for the tokens that the model holds. @throws Error if there is no such cell
CellExplanation explainCell(LanguageModel& model, const CellRequest& cell);

} // namespace attn
