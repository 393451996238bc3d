#pragma once

#include <cstdint>

namespace attn {

struct AttentionSpec;

/// Numbers of query heads (H) and key/value heads (G): G = H is multi-head, 1 < G < H grouped-query, G = 1 multi-query.
/// @source Vaswani et al. 2017, arXiv:1706.03762; Shazeer 2019, arXiv:1911.02150; Ainslie et al. 2023, arXiv:2305.13245
struct HeadCounts {
    int64_t heads, groups;
};
/// The head counts of a spec; one head where a mixer acts on the stream, which has none.
HeadCounts headCounts(const AttentionSpec& spec);
/// Whether a mixer acts on the rows of the stream themselves: there are no projections and no heads.
bool mixesStream(const AttentionSpec& spec);
/// D of a model of a width: the width divided by the number of heads.
int64_t headWidth(const AttentionSpec& spec, int64_t width);
/// Sets the heads of a spec to the plain ones with these counts.
void setHeads(AttentionSpec& spec, HeadCounts counts);
/// Multiplies the numbers of heads of a spec, as each merge of tokens does.
void multiplyHeads(AttentionSpec& spec, int64_t factor);
/// Whether the heads of a spec are all alike and independent, each with keys and values of its own.
bool saysOnlyCount(const AttentionSpec& spec);

} // namespace attn
