#include "engine/playground/mask_reach.h"

#include "engine/core/bit_row.h"
#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {
namespace {

/// The tokens that `frontier` sees in layer `size.layer`, and `frontier` itself.
BitRow seenBy(const MaskExpression& mask, const MaskSize& size, const BitRow& frontier) {
    BitRow reached = frontier, row;
    frontier.forEach([&](int64_t token) {
        mask.row(size, token, row);
        reached |= row;
    });
    return reached;
}

} // namespace

std::vector<int> layersToReach(const MaskExpression& mask, MaskSize size, int64_t query, int layers) {
    if (size.queries != size.keys)
        throw Error({.what = fmt::format("a receptive field needs as many keys as queries, not {} queries and {} keys",
                                         size.queries, size.keys),
                     .where = "receptive field",
                     .hint = "choose as many keys as queries"});
    std::vector<int> first(static_cast<size_t>(size.keys), -1);
    BitRow reached(size.keys);
    reached.set(query);
    first[static_cast<size_t>(query)] = 0;
    BitRow frontier = reached;
    for (int depth = 1; depth <= layers && frontier.any(); ++depth) {
        BitRow now = reached;
        if (mask.dependsOnLayer()) {
            // The mask depends on the layer, so each depth is computed from the highest layer down.
            now = BitRow(size.keys);
            now.set(query);
            for (size.layer = depth - 1; size.layer >= 0; --size.layer) now = seenBy(mask, size, now);
        } else {
            now |= seenBy(mask, size, frontier);
            frontier = BitRow(size.keys);
        }
        now.forEach([&](int64_t key) {
            if (reached.test(key)) return;
            first[static_cast<size_t>(key)] = depth;
            if (!mask.dependsOnLayer()) frontier.set(key);
        });
        reached = now;
    }
    return first;
}

} // namespace attn
