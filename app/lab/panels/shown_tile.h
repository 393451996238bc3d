#pragma once

#include "engine/session/snapshot.h"

#include <memory>

namespace attn {

/// A head's pattern over all tokens: the detail if it covers all tokens of that head, otherwise the thumbnail.
/// @param count number of tokens
/// @param mayLeaveOutFirst whether a pattern without the first token is acceptable
/// @return null if there is no suitable pattern
inline std::shared_ptr<const PatternTile> shownTile(const std::shared_ptr<const PatternTile>& detail,
                                                    const std::shared_ptr<const PatternGrid>& grid, int count,
                                                    int layer, int head, bool mayLeaveOutFirst = false) {
    const bool isWhole = detail && detail->queryBegin == 0 && detail->keyBegin == 0 && detail->queryEnd >= count &&
                         detail->keyEnd >= count;
    if (isWhole && detail->site == layer && detail->head == head && (mayLeaveOutFirst || !detail->leavesOutFirst))
        return detail;
    if (!grid || layer >= grid->sites || head >= grid->heads || grid->tiles.empty()) return nullptr;
    if (grid->at(layer, head).leavesOutFirst && !mayLeaveOutFirst) return nullptr;
    return {grid, &grid->at(layer, head)};
}

/// The same for the patterns of a snapshot.
inline std::shared_ptr<const PatternTile> shownTile(const Snapshot& snapshot, int layer, int head,
                                                    bool mayLeaveOutFirst = false) {
    const int count = snapshot.sequence ? static_cast<int>(snapshot.sequence->tokens.size()) : 0;
    return shownTile(snapshot.detail, snapshot.grid, count, layer, head, mayLeaveOutFirst);
}

} // namespace attn
