#pragma once

#include "engine/text/tokenizer.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// The special token that ends a text and pads rows.
constexpr std::string_view kEndOfText = "<|endoftext|>";

// Each function writes a tokenizer.json with the same meaning for Tokenizer and for Hugging Face's tokenizers. Most are
// of type BPE, where "ignore_merges" allows whole words without merges.

/// A tokenizer of symbols between white space: "3 1 2 =". Ids are the positions in the list; kEndOfText follows.
std::string symbolTokenizerJson(const std::vector<std::string>& symbols);

/// A tokenizer with one token per character, numbered as listed. It skips other characters.
/// @param specials special tokens, which have the last ids
std::string characterTokenizerJson(const std::vector<std::string>& alphabet,
                                   const std::vector<std::string>& specials = {});

/// Two adjacent tokens, as bytes, that become one.
using MergePair = std::pair<std::string, std::string>;

/// A tokenizer with byte-level BPE as in GPT-2. Ids 0 to 255 are the bytes in the order of gpt2Bytes(); then each merge
/// has an id.
/// @param merges empty: plain bytes  @param specials special tokens, which have the last ids
std::string byteLevelTokenizerJson(std::span<const MergePair> merges, const std::vector<std::string>& specials = {});

/// A tokenizer that cuts a text into as few pieces as it can (Unigram with equal scores, as in SentencePiece). Id 0 is
/// "<unk>" for other characters; then come the pieces and the special tokens.
/// @param pieces texts such as " hundred" or "und"; a text is cut as if a blank stood before it
std::string pieceTokenizerJson(const std::vector<std::string>& pieces, const std::vector<std::string>& specials);

/// The 256 bytes in the order of GPT-2's ids: bytes with a printable character, then the others.
std::vector<unsigned char> gpt2Bytes();

/// A tokenizer of English words, each with the space before it, and single letters for other words. Id 0 is kEndOfText
/// and 1 is "<unk>"; then come the characters and the words.
/// @param characters that spell other words
/// @param words      texts such as " park", "." or "\""
std::string wordTokenizerJson(const std::vector<std::string>& characters, const std::vector<std::string>& words);

} // namespace attn
