#pragma once

#include "engine/session/edits.h"

#include <span>

namespace attn {

/// A change of all that a layer adds to the stream: `change` at its attention and, where it has one, at its MLP.
/// @param change its hook does not count
std::vector<Intervention> wholeLayer(Intervention change, int layer, bool hasMlp);

/// A list of interventions cut into what people see as one change: attention and MLP of the same layer, one after the
/// other and changed alike, belong together; every other intervention stands alone. The spans point into the list.
std::vector<std::span<const Intervention>> changesOf(const std::vector<Intervention>& interventions);

/// What a row of a list of changes stands for; empty: a pattern, or nothing.
std::span<Intervention> changeAt(Edits& edits, int row);
/// Takes such a row away, patterns too.
void removeChange(Edits& edits, int row);

/// "layer 2 removed": as describe() of one intervention. @param change of changesOf()
std::string describe(std::span<const Intervention> change);

} // namespace attn
