#pragma once

#include <cstdint>

namespace attn {

struct AttentionSpec;

/// Numbers of query heads (H) and key/value heads (G).
struct HeadCounts {
    int64_t heads, groups;
};
/// The head counts of a spec.
HeadCounts headCounts(const AttentionSpec& spec);

} // namespace attn
