#pragma once

#include "engine/text/added_tokens.h"
#include "engine/text/normalizer.h"
#include "engine/text/sentence_piece_file.h"
#include "engine/text/special_template.h"
#include "engine/text/token_decoder.h"
#include "engine/text/token_model.h"

#include <memory>
#include <optional>
#include <string>

namespace attn {

/// The parts of the tokenizer that a model file of SentencePiece means in a folder of some kind of models. They have no
/// pre-tokenizer: SentencePiece cuts whole texts.
struct SentencePieceParts {
    Normalizer normalizer;
    std::unique_ptr<const TokenModel> model;
    AddedTokens added;
    SpecialTemplate specials;
    TokenDecoder decoder;
};

// In each, `file` is the name of the model file, for errors.

/// T5's: a text ends with </s>, and sentinels stand behind the pieces, <extra_id_0> last.
/// @param sentinels how many; none: 100, or no more where they are among the pieces, as mT5's are
/// @throws Error naming the file and what is wrong in it
SentencePieceParts t5Parts(const SentencePieceFile& model, const std::string& file, std::optional<size_t> sentinels);

/// XLM-RoBERTa's: four tokens of its own stand before the pieces, and <mask> behind them.
/// @throws Error naming the file and what is wrong in it
SentencePieceParts xlmRobertaParts(const SentencePieceFile& model, const std::string& file);

/// Marian's: a text ends with </s>, and languages such as >>fra<< are tokens.
/// @param ids of the pieces of two models: vocab.json  @param idsFile its name, for errors
/// @throws Error naming a file and what is wrong in it
SentencePieceParts marianParts(const SentencePieceFile& model, const std::string& file, StringMap<int> ids,
                               const std::string& idsFile);

} // namespace attn
