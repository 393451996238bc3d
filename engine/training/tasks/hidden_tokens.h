#pragma once

#include "engine/core/param.h"

#include <cstdint>

// What tasks over a text in word pieces share.

namespace attn {

class Draws;

inline constexpr Param kVocabularyParam{
    "vocabulary",
    "Vocabulary",
    "Largest number of tokens: special ones, characters, and frequent words and their parts",
    Param::Kind::Integer,
    64,
    30000,
    1,
    1000};

/// The token in place of a hidden one: in 80 % of cases the mask, in 10 % any other token, in 10 % the token itself.
/// @param vocabulary number of tokens, the first of which are BERT's special ones
/// @source Devlin et al. 2019, arXiv:1810.04805, section 3.1
int32_t hiddenToken(int32_t token, int32_t mask, int vocabulary, Draws& draws);

} // namespace attn
