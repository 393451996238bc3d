#pragma once

#include "engine/inference/hook_edits.h"
#include "engine/inference/language_model.h"

namespace attn {

/// The changes to a LanguageModel.
struct LanguageModel::EditState {
    HookEdits hooks;
    /// Values from original runs, by tokens and hook, so that a slider does not repeat these runs.
    std::map<std::vector<int>, std::map<std::string, CapturedHook>> captured;
};

} // namespace attn
