#pragma once

#include "engine/inference/pattern_views.h"
#include "engine/inference/sequence.h"

#include <QString>

#include <memory>
#include <span>
#include <vector>

namespace attn {

/// The words of a text whose tokens are pieces of words. Each special token and each punctuation mark is a word.
struct WordRows {
    std::vector<int> begins;     ///< the first token of each word
    std::vector<int> wordOf;     ///< the word of each token
    std::vector<QString> labels; ///< one per word

    int count() const { return static_cast<int>(begins.size()); }
};

WordRows wordRows(std::span<const TokenInfo> tokens);

/// A pattern between words: adds the weights of the pieces of a key, and averages the rows of the pieces of a query, so
/// each row still sums to 1.
/// @param tile exact, with all tokens  @source Clark et al. 2019, "What Does BERT Look At?", arXiv:1906.04341, section
/// 4.1
std::shared_ptr<PatternTile> wordTile(const PatternTile& tile, const WordRows& queries, const WordRows& keys);

} // namespace attn
