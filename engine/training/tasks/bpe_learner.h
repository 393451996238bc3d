#pragma once

#include "engine/training/tasks/tokenizer_json.h"

#include <string_view>
#include <vector>

namespace attn {

/// Learns byte-level BPE: words are cut as in GPT-2, then the most frequent pair of neighbouring tokens becomes one,
/// over and over; of equally frequent pairs the one with the lower ids. Equal to Hugging Face's BpeTrainer with a
/// minimum frequency of 2.
/// @param count merges wanted; fewer come back where no pair is left that occurs twice
/// @source Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", arXiv:1508.07909,
/// algorithm 1
std::vector<MergePair> learnBpe(std::string_view text, int count);

} // namespace attn
