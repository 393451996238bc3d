#pragma once

#include "engine/text/tokenizer.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// The token that ends a text and fills up rows, special in every tokenizer written here that has it.
constexpr std::string_view kEndOfText = "<|endoftext|>";

// Each of these writes a tokenizer.json that Tokenizer and Hugging Face's tokenizers load alike. All are of type BPE,
// the one kind that Tokenizer reads; whole words get by without merges through "ignore_merges".

/// Symbols with white space between them: "3 1 2 =". Ids are the positions in the list; kEndOfText follows.
std::string symbolTokenizerJson(const std::vector<std::string>& symbols);

/// One token per character, numbered as listed; other characters are left out of what is encoded.
std::string characterTokenizerJson(const std::vector<std::string>& alphabet);

/// Two neighbouring tokens, as bytes, that become one.
using MergePair = std::pair<std::string, std::string>;

/// Byte-level BPE as in GPT-2: ids 0 to 255 are the bytes in the order of gpt2Bytes(), one id per merge follows.
/// @param merges none gives plain bytes
std::string byteLevelTokenizerJson(std::span<const MergePair> merges);

/// The 256 bytes in the order of GPT-2's ids: those with a printable character of their own, then the others.
std::vector<unsigned char> gpt2Bytes();

/// English words, each with the space before it, and single letters for words that are not listed. Id 0 is kEndOfText,
/// 1 "<unk>"; then come the characters and the words.
/// @param characters what spells an unlisted word
/// @param words      texts such as " park", "." or "\""
std::string wordTokenizerJson(const std::vector<std::string>& characters, const std::vector<std::string>& words);

} // namespace attn
