#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// How well translations agree with references: the share of their n-grams that a reference has too.
struct Bleu {
    double score = 0;                   ///< 0 to 100
    std::array<double, 4> precisions{}; ///< in percent, of n-grams of 1 to 4 tokens; one without a match is smoothed
    double brevityPenalty = 1;          ///< below 1 if the translations are shorter than the references
    uint64_t length = 0, referenceLength = 0; ///< tokens of all translations and of all references
};

/// Compares translations with one reference each, as sacreBLEU does by default: n-grams of up to 4 tokens, which are
/// counted over all texts; case matters; an n-gram length without a match is smoothed by "exp".
/// @param translations valid UTF-8  @param references as many texts, in the same order
/// @source Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; Post 2018,
///         arXiv:1804.08771
Bleu corpusBleu(std::span<const std::string> translations, std::span<const std::string> references);

/// The tokens that BLEU compares: words, and each punctuation mark on its own except within numbers.
/// @param text valid UTF-8  @source mteval-v13a.pl of NIST, sacreBLEU's tokenizer "13a"
std::vector<std::string> bleuTokens(std::string_view text);

} // namespace attn
