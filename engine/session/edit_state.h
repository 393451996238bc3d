#pragma once

#include "engine/session/hook_edits.h"
#include "engine/session/language_model.h"

namespace attn {

/// What is changed about a LanguageModel.
struct LanguageModel::EditState {
    HookEdits hooks;
    /// Unedited runs, by tokens and hook, so that a slider need not repeat them.
    std::map<std::vector<int>, std::map<std::string, CapturedHook>> captured;
};

} // namespace attn
