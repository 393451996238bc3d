#pragma once

#include "engine/text/sentence_piece_file.h"
#include "engine/text/tokenizer_parts.h"

#include <optional>
#include <string>

namespace attn {

// The parts of the tokenizer that a model file of SentencePiece means in a folder of some kind of models. They have no
// pre-tokenizer: SentencePiece cuts whole texts. `file` is the name of the model file, for errors.

/// T5's: a text ends with </s>, and sentinels stand behind the pieces, <extra_id_0> last.
/// @param sentinels how many; none: 100, or no more where they are among the pieces, as mT5's are
/// @throws Error naming the file and what is wrong in it
TokenizerParts t5Parts(const SentencePieceFile& model, const std::string& file, std::optional<size_t> sentinels);

/// XLM-RoBERTa's: four tokens of its own stand before the pieces, and <mask> behind them.
/// @throws Error naming the file and what is wrong in it
TokenizerParts xlmRobertaParts(const SentencePieceFile& model, const std::string& file);

/// CamemBERT's: five tokens of its own precede the pieces, and <mask> follows them. The last two of the five repeat <s>
/// and </s>. @throws Error naming the file and its fault
TokenizerParts camembertParts(const SentencePieceFile& model, const std::string& file);

/// How XLNet's and ALBERT's tokenizers change a text before SentencePiece does, and what stands around it.
struct CleanedPieces {
    bool lowercases = false, keepsAccents = false;
    std::string first, separator, last; ///< tokens; empty: none
};
/// XLNet's and ALBERT's: ids are those of the file. Doubled quotation marks become single ones, and accents go.
/// @throws Error naming the file and what is wrong in it
TokenizerParts cleanedParts(const SentencePieceFile& model, const std::string& file, const CleanedPieces& how);

/// Llama's and Gemma's: ids are those of the file. Nothing stands around a text yet.
/// @throws Error naming the file and what is wrong in it
TokenizerParts llamaParts(const SentencePieceFile& model, const std::string& file);

/// Marian's: a text ends with </s>, and languages such as >>fra<< are tokens.
/// @param ids of the pieces of two models: vocab.json  @param idsFile its name, for errors
/// @throws Error naming a file and what is wrong in it
TokenizerParts marianParts(const SentencePieceFile& model, const std::string& file, StringMap<int> ids,
                           const std::string& idsFile);

} // namespace attn
