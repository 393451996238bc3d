#include "engine/attention/execution.h"
#include "engine/attention/mask/blocks.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <cmath>

namespace attn {
namespace {

using namespace terms;

constexpr int64_t kMostTiles = 64; ///< in a row, for views

/// Shows what the fused kernel knows of each query after each tile of keys: the largest score and the sum of the
/// exponentials relative to it. The softmax of the whole row follows from the last ones.
/// @source Rabe and Staats 2021, arXiv:2112.05682, section 2; Milakov and Gimelshein 2018, arXiv:1805.02867, section 3
void showTiles(AttentionFlow& flow) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys, length = MaskBlocks::kKeys;
    const int64_t tiles = (S + length - 1) / length;
    if (flow.isStep() || tiles < 2 || tiles > kMostTiles || !isFused(flow.spec)) return;
    const auto none = [&](int64_t columns) { return fill(flow.graph, {B, H, T, columns}, kMasked); };
    Tensor scores = flow.scores;
    if (const int64_t rest = tiles * length - S; rest > 0) scores = beside(scores, none(rest));
    scores = reshape(scores, {B, H, T * tiles, length});
    const Tensor ofTile = reduce(scores, Reduction::Maximum, {-1}); // [B,H,T tiles,1]
    Tensor largest = reshape(ofTile, {B, H, T, tiles});
    for (int64_t reach = 1; reach < tiles; reach *= 2)
        largest = binary(largest, beside(none(reach), slice(largest, 3, 0, tiles - reach)), Binary::Maximum);
    const Tensor isSeen = binary(fill(flow.graph, {1, 1}, kMasked), scores, Binary::Less);
    const Tensor own =
        reshape(sumOver(times(unary(minus(scores, ofTile), Unary::Exponential), isSeen), -1), {B, H, T, tiles});
    std::vector<Tensor> sums; // each relative to the largest score so far
    for (int64_t tile = 0; tile < tiles; ++tile) {
        const auto at = [tile](Tensor x) { return slice(x, 3, tile, 1); };
        const auto scale = [](Tensor from, Tensor to) { return unary(minus(from, to), Unary::Exponential); };
        Tensor sum = times(at(own), scale(at(reshape(ofTile, {B, H, T, tiles})), at(largest)));
        if (tile > 0) sum = plus(sum, times(sums.back(), scale(slice(largest, 3, tile - 1, 1), at(largest))));
        sums.push_back(sum);
    }
    flow.show("tiles.largest", largest);
    flow.show("tiles.sum", concatenate(sums, 3));
}

void build(AttentionFlow& flow, PartValues) {
    flow.pattern = softmax(flow.scores);
    showTiles(flow);
}

void fuse(AttentionFlow&, PartValues, FusedScores&) {} // the kernel's own

void reference(ReferenceFlow& flow, PartValues) {
    flow.pattern = Dense({flow.heads, flow.queries, flow.keys});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t) {
            double maximum = kMasked, sum = 0;
            for (int64_t s = 0; s < flow.keys; ++s) maximum = std::max(maximum, flow.scores.at(h, t, s));
            if (maximum <= kMasked) continue;
            for (int64_t s = 0; s < flow.keys; ++s)
                if (flow.scores.at(h, t, s) > kMasked)
                    sum += flow.pattern.at(h, t, s) = std::exp(flow.scores.at(h, t, s) - maximum);
            for (int64_t s = 0; s < flow.keys; ++s) flow.pattern.at(h, t, s) /= sum;
        }
}

} // namespace

const Part kSoftmaxNormaliser{
    .id = "softmax",
    .slot = Slot::Normaliser,
    .title = "Softmax",
    .idea =
        "Turns the scores of each query into weights that are positive and sum to one. Every additional unit of "
        "score multiplies a key's weight by the same factor. The fused kernel never forms the pattern: it walks over "
        "tiles of 32 keys with a running maximum and sum (Rabe and Staats 2021, arXiv:2112.05682; Dao et al. 2022, "
        "arXiv:2205.14135), which views of more than 32 tokens show.",
    .formula = "A(i,j) = e^(s(i,j)) / sum_j' e^(s(i,j'))",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.1", "arXiv:1706.03762"},
    .time = "O(T S D)",
    .memory = "O(T S), or O(T D) fused",
    .hooks = {{Stage::Normalise, build, reference, fuse}},
    .mix = {.isSoftmax = true}};

} // namespace attn
