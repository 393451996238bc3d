#pragma once

#include "engine/graph/graph.h"
#include "engine/session/hook_edits.h"
#include "engine/session/hooks.h"

#include <optional>
#include <string>

namespace attn {

struct HookShape {
    int64_t heads = 1, width = 1; ///< of all heads together
};

/// Of a hook whose rows an intervention changes.
/// @param model its name, for messages
/// @throws Error where rows of the hook cannot be changed, or there is no such head
HookShape editableShape(const Graph& graph, const Intervention& edit, const std::string& model);

/// What an intervention does, as numbers.
/// @param values of the hook in the run that they are taken from, [tokens, width]; null for Zero
/// @param contrast likewise, whose last row is taken away; null: nothing
/// @return nothing for tokens that the present input, edit.text being empty, has not
/// @throws Error for tokens that the other one has not
std::optional<HookEdits::Rows> rowsOf(const Intervention& edit, const HookShape& shape, const CapturedHook* values,
                                      const CapturedHook* contrast);

} // namespace attn
