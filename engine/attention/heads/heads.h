#pragma once

#include "engine/attention/part.h"

namespace attn {

extern const Part kSingleHead, kMultiHead, kMultiQuery, kGroupedQuery, kSharedQueryKey, kTalkingHeads;

/// How many query heads and key/value heads a choice of the slot Heads has.
struct HeadCounts {
    int64_t heads, groups;
};
HeadCounts headCounts(const Part& part, PartValues values);

} // namespace attn
