#include "engine/attention/layer_attention.h"

#include "engine/attention/part.h"

#include <cmath>

namespace attn {

double LayerAttention::scoreScale() const {
    const auto scale = spec.part(Slot::Score).score.dotScale;
    return scale ? scale(spec.values(Slot::Score), headWidth) : 1 / std::sqrt(static_cast<double>(headWidth));
}

AttentionSpec plainAttention(HeadCounts counts, MaskExpression mask) {
    AttentionSpec spec;
    setHeads(spec, counts);
    spec.mask = std::move(mask);
    return spec;
}

} // namespace attn
