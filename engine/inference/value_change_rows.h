#pragma once

#include "engine/graph/graph.h"
#include "engine/inference/hook_changes.h"
#include "engine/inference/hooks.h"

#include <optional>
#include <string>

namespace attn {

/// The shape of a row of a hook.
struct HookShape {
    int64_t heads = 1, width = 1; ///< width of all heads together
};

/// The shape of the hook that a change applies to.
/// @param model its name, for messages
/// @throws Error if rows of the hook cannot be changed, or there is no such head
HookShape editableShape(const Graph& graph, const ValueChange& change, const std::string& model);

/// Converts a change to numbers.
/// @param values of the hook in the source run, [tokens, width]; null for Zero
/// @param contrast values of the hook whose last row is subtracted, [tokens, width]; null: none
/// @return none if change.text is empty and the current input lacks the token
/// @throws Error if another text lacks the token
std::optional<HookChanges::Rows> rowsOf(const ValueChange& change, const HookShape& shape, const CapturedHook* values,
                                        const CapturedHook* contrast);

} // namespace attn
