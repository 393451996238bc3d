#pragma once

#include "engine/analysis/head_kinds.h"

#include <cstdint>
#include <functional>
#include <span>

namespace attn {

class LanguageModel;

/// Head kinds of texts. Each comment names the tokens that the head attends to.
enum class TextHeadKind : uint8_t {
    /// The token that followed an earlier copy of the query token.
    /// @source Olsson et al. 2022, "In-context Learning and Induction Heads", arXiv:2209.11895: the prefix matching
    ///         score. Theirs repeats 25 random tokens four times after a BOS token. Ours repeats at most 24 random
    ///         tokens twice and has no BOS token.
    Induction,
    DuplicateToken, ///< an earlier copy of the query token. @source Wang et al. 2022, arXiv:2211.00593
    PreviousToken,  ///< the previous token
    CurrentToken,   ///< the query token itself
    FirstToken,     ///< the first token, as an attention sink. @source Xiao et al. 2023, arXiv:2309.17453
    FixedOffset,    ///< the token at a fixed distance of 2 to 8. @source Clark et al. 2019, arXiv:1906.04341
    /// The same positions on two texts of different random tokens: the weight on which both patterns agree, beyond an
    /// even distribution. This definition is ours. Voita et al. 2019, arXiv:1905.09418, section 5.1, call a head
    /// positional if its largest weight is nearly always at one relative position; PreviousToken and FixedOffset
    /// measure that.
    Positional,
    Local,     ///< the last four tokens, including the query token
    Broad,     ///< all visible tokens, almost evenly
    NextToken, ///< the next token, of models that look ahead. @source Clark et al. 2019, arXiv:1906.04341, section 3
    // For cross-attention, on a source and a target of equally many random tokens. These definitions are ours.
    SamePlace,       ///< the token of the source at the query's place, or at a fixed distance of at most 2 from it
    LastSourceToken, ///< the last token of the source, which ends it in most models
};
inline constexpr size_t kTextHeadKinds = 12;

/// The kinds in the order of TextHeadKind. Cross-attention has only FirstToken, Positional, Broad and the last two.
/// The other kinds are of attention within a text. Positional, Local and Broad are less specific than the others.
std::span<const HeadKind> textHeadKinds();

/// The kinds and fingerprints of the heads of a language model, from runs on random tokens that repeat, on random
/// tokens that do not and, if the model has a tokenizer, on a fixed English text. A model that reads a source reads
/// other random tokens, or the same English text, as its source. HeadDetection::alike is empty.
/// @throws Error if the context or the vocabulary is too small to repeat tokens
HeadDetection detectOnText(LanguageModel& model, uint64_t seed, const std::function<void(float share)>& report);

} // namespace attn
