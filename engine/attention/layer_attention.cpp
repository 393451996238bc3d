#include "engine/attention/layer_attention.h"

#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"

#include <cmath>

namespace attn {

HeadLayout LayerAttention::heads() const {
    const HeadCounts counts = headCounts(spec);
    return {.heads = counts.heads, .keyValueHeads = counts.groups, .width = headWidth};
}

double LayerAttention::scoreScale() const {
    const auto scale = spec.part(Slot::Score).dotScale;
    return scale ? scale(spec.values(Slot::Score), headWidth) : 1 / std::sqrt(static_cast<double>(headWidth));
}

AttentionSpec plainAttention(int64_t heads, int64_t keyValueHeads, MaskExpression mask) {
    AttentionSpec spec;
    setHeads(spec, {heads, keyValueHeads});
    spec.mask = std::move(mask);
    return spec;
}

} // namespace attn
