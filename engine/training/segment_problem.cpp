#include "engine/training/segment_problem.h"

#include "engine/attention/part.h"
#include "engine/core/bit_row.h"

#include <fmt/format.h>

namespace attn {

std::string segmentedAttention(const Segments& segments) {
    constexpr int kReach = 8; // of distances and of neighbours
    return fmt::format("position=etc({0}, {1}, {2}), mask=etc_hard({0}, {2}, {1})", segments.count, segments.length,
                       kReach);
}

std::optional<SegmentProblem> segmentProblem(std::span<const LayerAttention> layers, int64_t context,
                                             const Segments& segments) {
    if (segments.count == 0) return {};
    const std::string remedy = "use for example " + segmentedAttention(segments);
    std::vector<BitRow> seen(static_cast<size_t>(segments.count)); // by each global token, in all heads and layers
    for (BitRow& row : seen) row.reset(context);
    for (size_t layer = 0; layer < layers.size(); ++layer) {
        AttentionSpec alone = layers[layer].spec;
        if (const Part& position = alone.part(Slot::Position); position.position.namesSegments) {
            const PartValues values = alone.values(Slot::Position);
            const Segments named{.count = values.integer("g"), .length = values.integer("n")};
            if (named != segments)
                return SegmentProblem{fmt::format("{} counts {} segments of {} tokens, but the task has {} of {}",
                                                  position.title, named.count, named.length, segments.count,
                                                  segments.length),
                                      remedy};
        }
        const MaskExpression mask = alone.mask.staticPart();
        const auto heads = static_cast<int>(layers[layer].heads().heads);
        BitRow row;
        for (int head = 0; head < (mask.dependsOnHead() ? heads : 1); ++head)
            for (int64_t global = 0; global < segments.count; ++global) {
                mask.row({.queries = context,
                          .keys = context,
                          .head = head,
                          .heads = heads,
                          .layer = static_cast<int>(layer)},
                         global, row);
                seen[static_cast<size_t>(global)] |= row;
            }
        alone.mask =
            alone.mask & MaskExpression::parse(fmt::format("own_segment({}, {})", segments.count, segments.length));
        const auto problems = check(alone, {.headWidth = layers[layer].headWidth,
                                            .queries = context,
                                            .keys = context,
                                            .layer = static_cast<int>(layer)});
        if (!problems.empty())
            return SegmentProblem{"each segment must also be read alone: " + problems.front().sentence, remedy};
    }
    for (int64_t global = 0; global < segments.count; ++global)
        for (int64_t token = segments.begin(global); token < segments.begin(global + 1); ++token)
            if (!seen[static_cast<size_t>(global)].test(token))
                return SegmentProblem{
                    fmt::format("token {} stands for a segment, tokens {} to {}, but sees token {} in no layer", global,
                                segments.begin(global), segments.begin(global + 1) - 1, token),
                    remedy};
    return {};
}

} // namespace attn
