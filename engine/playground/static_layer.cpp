#include "engine/playground/static_layer.h"

#include "engine/attention/head_counts.h"
#include "engine/attention/parts.h"

namespace attn {

AttentionSpec staticLayerLike(const AttentionSpec& spec) {
    AttentionSpec fixed;
    setHeads(fixed, headCounts(spec));
    fixed.mask = spec.mask.staticPart();
    fixed.set(Slot::Score, kRandomSynthesizerScore.id);
    return fixed;
}

} // namespace attn
