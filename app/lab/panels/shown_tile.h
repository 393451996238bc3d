#pragma once

#include "engine/session/snapshot.h"

#include <memory>

namespace attn {

/// A head's pattern over all tokens as a snapshot has it: the detail where it shows that head whole, else the
/// thumbnail. Null where there is neither, or it leaves out the first token.
inline std::shared_ptr<const PatternTile> shownTile(const Snapshot& snapshot, int layer, int head) {
    const auto& detail = snapshot.detail;
    const int count = snapshot.sequence ? static_cast<int>(snapshot.sequence->tokens.size()) : 0;
    const bool isWhole = detail && detail->queryBegin == 0 && detail->keyBegin == 0 && detail->queryEnd >= count &&
                         detail->keyEnd >= count;
    if (isWhole && detail->layer == layer && detail->head == head && !detail->leavesOutFirst) return detail;
    const auto& grid = snapshot.grid;
    if (!grid || layer >= grid->layers || head >= grid->heads || grid->tiles.empty()) return nullptr;
    if (grid->at(layer, head).leavesOutFirst) return nullptr;
    return {grid, &grid->at(layer, head)};
}

} // namespace attn
