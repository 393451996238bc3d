#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// The queries, keys and values of one layer on a sequence, as inputs for another attention. If the model does not
/// scale its scores by 1 / sqrt(D), the queries carry the remaining factor. Queries and keys are taken before rotary
/// embedding, because a position part applies its own. They include the positions that a model adds to its tokens
/// (GPT-2). A layer whose mixer acts on the stream has none of them.
struct SiteInputs {
    uint64_t sequenceVersion = 0; ///< version of the sequence that they belong to
    int site = 0;
    int64_t heads = 1, keyValueHeads = 1, tokens = 0, width = 1;
    std::vector<float> q, k, v;    ///< [H,T,D], [G,T,D], [G,T,D]
    int64_t streamWidth = 1;       ///< C
    std::vector<float> stream;     ///< [T,C]: the rows that enter the block, before its norm
    std::string headsText() const; ///< the heads part with these counts: "grouped_query(8, 4)"
};

} // namespace attn
