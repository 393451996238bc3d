#pragma once

#include "engine/core/byte_range.h"
#include "engine/core/growing_list.h"
#include "engine/inference/given.h"
#include "engine/inference/token_limits.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// One token of the current sequence.
struct TokenInfo {
    int id = 0;
    std::string text;       ///< display piece; may be a lone byte shown as "<0xE4>"
    std::string written;    ///< the text that it appends; the last token of a split character appends the character
    int branchNode = 0;     ///< index of its node in the branch tree
    bool isSpecial = false; ///< BOS and the like
    bool isPrompt = false;  ///< typed by the user (or BOS), not generated
    bool isSecond = false;  ///< of the second text of a pair
    int type = 0;           ///< see TextInput::types
    ByteRange word;         ///< of the prompt, or of the second text: its word. Empty: of neither
    /// Its probability under the sampling settings that generated it; none for the prompt, and if it is not known.
    std::optional<float> probability;
};

/// The token sequence that the key/value cache holds.
struct Sequence {
    GrowingList<TokenInfo> tokens;
    GrowingList<TokenInfo> source{}; ///< that the encoder reads; empty without one
    std::string text;                ///< decoded text of all tokens except special tokens
    GivenText given;                 ///< as posted; of tokens, `text` is what they spell
    int forgotten = 0;               ///< tokens before the first one, which the context no longer holds
    /// A rule that changed the sequence, e.g. "Too long: the model reads the last 485 of 1,381 tokens.".
    std::string notice;
};

/// A token in the tree of all continuations since the prompt was set. Node 0 is the root and has no token.
struct BranchNode {
    int token = -1;
    int parent = -1;
    std::string text{};
    std::optional<float> probability{}; ///< as in TokenInfo; none for the tokens of the prompt
};

struct BranchTree {
    GrowingList<BranchNode> nodes; ///< parents before children
    int current = 0;               ///< node of the last token of the sequence
    int promptLength = 0;          ///< number of tokens of the whole prompt, wherever the sequence ends

    std::vector<std::vector<int>> children() const; ///< of each node
};

/// The logits after the last token, or those of a hidden word. Views compute sampling probabilities from them without
/// running the model.
struct NextToken {
    std::vector<float> logits;     ///< [V]
    std::vector<int> recentTokens; ///< ids that a repetition penalty looks at
    int row = 0;                   ///< index of the last token, or of the hidden word
    TokenLimits limits{};          ///< of the model's folder
};

} // namespace attn
