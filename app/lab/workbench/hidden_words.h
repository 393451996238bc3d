#pragma once

#include "engine/session/commands.h"
#include "engine/session/snapshot.h"

#include <optional>
#include <string>

namespace attn {

class Workbench;

/// The prompt with another word in place of a token's word.
SetPromptCommand withWord(const Sequence& sequence, const TokenInfo& token, const std::string& word);
/// Posts a prompt, as one step of undo.
void changePrompt(Workbench& bench, SetPromptCommand prompt);

/// Hides a word after a click on it, and shows it again after the next click. One word at a time is hidden by clicks;
/// the person may type more masks.
class WordHider {
public:
    explicit WordHider(Workbench& bench) : bench_(bench) {}

    void click(int token);
    /// Call for each new sequence: selects the row of a word that was just hidden, so that every view shows where the
    /// heads look from it.
    void follow(const Snapshot& snapshot);

private:
    Workbench& bench_;
    struct Hidden {
        std::string text, second; ///< the texts while the word is hidden
        bool isSecond;            ///< which of them has the mask
        size_t begin;             ///< its first byte
        std::string word, mask;
    };
    std::optional<Hidden> hidden_;
    bool isNew_ = false; ///< the mask is not selected yet
};

} // namespace attn
