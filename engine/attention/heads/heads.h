#pragma once

#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"

namespace attn {

extern const Part kSingleHead, kMultiHead, kMultiQuery, kGroupedQuery, kSharedQueryKey, kTalkingHeads;

/// The head counts that a part of Slot::Heads and its values stand for.
HeadCounts headCounts(const Part& part, PartValues values);

} // namespace attn
