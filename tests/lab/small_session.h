#pragma once

#include "app/lab/workbench/session_file.h"

namespace attn {

/// A session that opens in a moment: three tokens of "builtin:induction", with a second branch.
inline SessionDocument smallSession() {
    return {.modelPath = "builtin:induction",
            .given = {.text = "abcabc"},
            .promptLength = 2,
            .branches = {{-1, 1}, {0, 3}, {1, 7, 0.75f}, {1, 9, 0.125f}},
            .current = 3,
            .sampling = {.greedy = false, .temperature = 0.7f, .topK = 40, .topP = 0.9f},
            .view = {{"attention", QJsonObject{{"layer", 1}}}},
            .layout = QByteArray("\0\1\2", 3),
            .locks = {{"sampling", ControlState::Locked}}};
}

} // namespace attn
