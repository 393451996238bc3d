#include "engine/attention/parts.h"
#include "engine/attention/position/distance_bias.h"

#include <cmath>

namespace attn {
namespace {

/// 2^(-8 (head + 1) / heads), for every number of heads. The authors' code uses another series unless `heads` is a
/// power of two: the slopes of the largest power of two P below it, then every second slope of 2 P heads.
/// @source Press et al. 2022, arXiv:2108.12409, section 3
double alibiSlope(int64_t head, int64_t heads) {
    return std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

void fuseAlibi(AttentionFlow& flow, PartValues, FusedScores& fused) {
    fused.add(flow, [heads = flow.heads](int64_t h, int64_t d) {
        return -alibiSlope(h, heads) * static_cast<double>(std::abs(d));
    });
}
void buildAlibi(AttentionFlow& flow, PartValues) {
    const Tensor bias = flow.byDistance("position.alibi", flow.heads, [heads = flow.heads](int64_t d, int64_t h) {
        return -alibiSlope(h, heads) * static_cast<double>(std::abs(d));
    });
    addByDistance(flow, permute(bias, {1, 0}));
}
void referenceAlibi(ReferenceFlow& flow, PartValues) {
    addReference(flow, [&](int64_t h, int64_t distance) {
        return -alibiSlope(h, flow.heads) * static_cast<double>(std::abs(distance));
    });
}

} // namespace

const Part kAlibiPosition{
    .id = "alibi",
    .slot = Slot::Position,
    .title = "ALiBi",
    .idea = "Subtracts from every score the distance times a slope; the slopes of the heads form a geometric series. "
            "Nothing is added to the tokens, and a model trained on short texts works on longer ones. The slopes "
            "follow the paper's formula (section 3) for every number of heads H. The authors' code differs unless H "
            "is a power of two: it takes the slopes of the largest power of two P below H, and for the remaining "
            "heads every second slope of 2P heads, starting with the first.",
    .formula = "s(i,j) = q_i.k_j / sqrt(D) - m_h (i - j), m_h = 2^(-8(h+1)/H) for h = 0, 1, ...; for a key after the "
               "query, |i - j| replaces i - j",
    .source = {"Press et al.", 2022,
               "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation", "section 3",
               "arXiv:2108.12409"},
    .time = "O(T S)",
    .memory = "0",
    .hooks = {{Stage::Bias, buildAlibi, referenceAlibi, fuseAlibi}},
    .position = {.isRelative = true},
    .actsOnScores = true};

} // namespace attn
