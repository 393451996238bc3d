#pragma once

#include "engine/inference/changes.h"

#include <span>

namespace attn {

/// A change to everything that a layer adds to the residual stream: `change` at its attention and at its MLP, if any.
/// @param change its hook is ignored
/// @param block the layer's name: "blocks.3"
std::vector<ValueChange> wholeLayer(ValueChange change, const std::string& block, bool hasMlp);

/// Groups changes as people see them: consecutive equal changes to attention and MLP of a layer are one change. The
/// spans point into the list.
std::vector<std::span<const ValueChange>> changesOf(const std::vector<ValueChange>& valueChanges);

/// The valueChanges of a row in the list of changes; empty for a pattern, a gate or an invalid row.
std::span<ValueChange> changeAt(Changes& allChanges, int row);
/// Removes a row of the list of changes: valueChanges, then patterns, then gates.
void removeChange(Changes& allChanges, int row);

} // namespace attn
