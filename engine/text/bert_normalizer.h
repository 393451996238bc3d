#pragma once

#include "engine/text/aligned_text.h"

namespace attn {

class TextBudget;

/// BERT's changes to a text. Each can be left out.
/// @source Devlin et al. 2019, tokenization.py of BERT's release; character classes as in Hugging Face's library
struct BertNormalizer {
    bool cleans = true;              ///< removes control characters, and makes every white space a blank
    bool separatesIdeographs = true; ///< makes every Chinese character a word
    bool stripsAccents = true;       ///< decomposes (NFD) and removes marks
    bool lowercases = true;

    /// @throws Error if the text exceeds the budget
    AlignedText apply(AlignedText text, TextBudget& budget) const;
};

} // namespace attn
