#pragma once

#include "engine/graph/graph.h"
#include "engine/inference/hook_edits.h"
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
HookShape editableShape(const Graph& graph, const Intervention& edit, const std::string& model);

/// Converts a change to numbers.
/// @param values of the hook in the source run, [tokens, width]; null for Zero
/// @param contrast values of the hook whose last row is subtracted, [tokens, width]; null: none
/// @return no value if edit.text is empty and the current input lacks the token
/// @throws Error if another text lacks the token
std::optional<HookEdits::Rows> rowsOf(const Intervention& edit, const HookShape& shape, const CapturedHook* values,
                                      const CapturedHook* contrast);

} // namespace attn
