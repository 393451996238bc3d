#pragma once

#include "engine/inference/changes.h"

#include <span>

namespace attn {

/// A change to everything that a layer adds to the residual stream: `change` at its attention and at its MLP, if any.
/// @param change its hook is ignored
/// @param block the layer's name: "blocks.3"
std::vector<Intervention> wholeLayer(Intervention change, const std::string& block, bool hasMlp);

/// Groups changes as people see them: consecutive equal changes to attention and MLP of a layer are one change. The
/// spans point into the list.
std::vector<std::span<const Intervention>> changesOf(const std::vector<Intervention>& interventions);

/// The interventions of a row in the list of changes; empty for a pattern, a gate or an invalid row.
std::span<Intervention> changeAt(Changes& edits, int row);
/// Removes a row of the list of changes: interventions, then patterns, then gates.
void removeChange(Changes& edits, int row);

} // namespace attn
