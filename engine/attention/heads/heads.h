#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kSingleHead, kMultiHead, kMultiQuery, kGroupedQuery, kSharedQueryKey, kTalkingHeads;

/// Numbers of query heads (H) and key/value heads (G).
struct HeadCounts {
    int64_t heads, groups;
};
/// The head counts that a part of Slot::Heads and its values stand for.
HeadCounts headCounts(const Part& part, PartValues values);

} // namespace attn
