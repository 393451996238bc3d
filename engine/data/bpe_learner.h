#pragma once

#include "engine/core/stop_point.h"
#include "engine/data/tokenizer_json.h"

#include <map>
#include <string_view>
#include <vector>

namespace attn {

/// Learns byte-level BPE. Splits words as GPT-2 does, then merges the most frequent pair of adjacent tokens again and
/// again; among equally frequent pairs, the one with the lowest ids. Gives the same result as Hugging Face's BpeTrainer
/// with a minimum frequency of 2 and tokens of at most 512 bytes. Takes time in proportion to the text.
/// @param count number of merges; the result has fewer if no more pair occurs twice
/// @source Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", arXiv:1508.07909,
/// algorithm 1
std::vector<MergePair> learnBpe(std::string_view text, int count, const StopPoint& stopPoint = {});

/// The vocabulary of WordPiece for words with their counts: characters, which begin a word or continue it ("##x"), then
/// what merging the most frequent pairs gives, as in Hugging Face's trainer.
/// @param most number of tokens; frequent characters come first if there are more
std::vector<std::string> learnWordPieces(const std::map<std::string, int64_t>& words, size_t most,
                                         const StopPoint& stopPoint = {});

} // namespace attn
