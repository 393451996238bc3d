#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/gradient.h"

#include <algorithm>
#include <cmath>

// Memories inside one sequence: it is cut into segments, and a segment reads earlier ones. Training sends no gradients
// into them, analyses do.

namespace attn {
namespace {

using namespace terms;

bool isSameSegment(int64_t t, int64_t s, int64_t length) { return t / length == s / length; }

Tensor sameSegment(AttentionFlow& flow, int64_t length) {
    return flow.byCell("memory.same_segment",
                       [length](int64_t t, int64_t s) { return isSameSegment(t, s, length) ? 1.0 : 0.0; });
}
Tensor hidden(AttentionFlow& flow) { return fill(flow.graph, {1, 1}, kMasked); }

// Transformer-XL segments --------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kSegmentParams{
    {{"length", "Segment", "Tokens in a segment; the segment before it stays visible", Param::Kind::Integer, 1, 4096, 1,
      16}}};

/// Hides the keys of segments older than the one before.
void buildSegmentScores(AttentionFlow& flow, PartValues values) {
    const int64_t length = values.integer("length");
    const Tensor reached = flow.byCell("memory.reached", [length](int64_t t, int64_t s) {
        return std::abs(t / length - s / length) <= 1 && s / length <= t / length ? 1.0 : 0.0;
    });
    flow.scores = select(reached, flow.scores, hidden(flow));
}
/// Computes the scores of the previous segment again, with all biases, from keys of states that get no gradient.
void buildSegmentKeys(AttentionFlow& flow, PartValues values) {
    const Tensor own = sameSegment(flow, values.integer("length"));
    const Tensor live = flow.k, seen = flow.scores;
    const auto shown = flow.shown, terms = flow.terms;
    flow.k = flow.rememberedKeys ? flow.rememberedKeys : stopLearning(live);
    for (const Stage stage : {Stage::Scores, Stage::Bias})
        for (const Slot slot : {Slot::Heads, Slot::Position, Slot::Score})
            for (const Hook& hook : flow.spec.part(slot).hooks)
                if (hook.stage == stage) hook.build(flow, flow.spec.values(slot));
    flow.scores = select(own, seen, flow.scores);
    flow.k = live;
    flow.shown = shown;
    flow.terms = terms;
}
void buildSegmentValues(AttentionFlow& flow, PartValues values) {
    const Tensor own = sameSegment(flow, values.integer("length"));
    const Tensor within = times(flow.pattern, own), before = minus(flow.pattern, within);
    const Tensor remembered = flow.rememberedValues ? flow.rememberedValues : stopLearning(flow.v);
    flow.z = plus(batchedMatmul(within, flow.v), batchedMatmul(before, remembered));
}
void referenceSegments(ReferenceFlow& flow, PartValues values) {
    const int64_t length = values.integer("length");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s)
                if (const int64_t back = t / length - s / length; back != 0 && back != 1)
                    flow.scores.at(h, t, s) = kMasked;
}
void referenceNothing(ReferenceFlow&, PartValues) {}

// Nearest neighbours -------------------------------------------------------------------------------------------------

constexpr std::array<Param, 2> kNearestParams{
    {{"length", "Segment", "Tokens in a segment; tokens of earlier segments are stored", Param::Kind::Integer, 1, 4096,
      1, 16},
     {"neighbours", "Neighbours", "Stored keys that each query retrieves", Param::Kind::Integer, 1, 64, 1, 4}}};

/// q . k of the stored keys, hidden where the key is not in an earlier segment.
Tensor storedScores(AttentionFlow& flow, int64_t length) {
    const Tensor isStored =
        flow.byCell("memory.stored", [length](int64_t t, int64_t s) { return s / length < t / length ? 1.0 : 0.0; });
    const Tensor scores =
        affine(product(flow.q, stopLearning(flow.k)), 1 / std::sqrt(static_cast<double>(flow.width)), 0);
    return select(isStored, scores, hidden(flow));
}

void buildNearestScores(AttentionFlow& flow, PartValues values) {
    flow.scores = select(sameSegment(flow, values.integer("length")), flow.scores, hidden(flow));
}
void buildNearest(AttentionFlow& flow, PartValues values) {
    const int64_t length = values.integer("length");
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys;
    const int64_t neighbours = std::min<int64_t>(values.integer("neighbours"), S);
    const Tensor scores = storedScores(flow, length);
    const Tensor best = topK(reshape(scores, {B * H * T, S}), neighbours).values; // [BHT,k], falling
    const Tensor least = stopGradient(reshape(slice(best, 1, neighbours - 1, 1), {B, H, T, 1}));
    const Tensor isFurther = binary(scores, least, Binary::Less);
    const Tensor retrieved = softmax(select(isFurther, hidden(flow), scores)); // [B,H,T,S]
    flow.show("memory.retrieved", retrieved);
    const Tensor gate =
        unary(flow.parameter("memory.gate", {flow.heads, 1, 1}, {InitialValue::Kind::Zero}), Unary::Sigmoid);
    const Tensor local = batchedMatmul(flow.pattern, flow.v), stored = batchedMatmul(retrieved, stopLearning(flow.v));
    const Tensor rest = affine(gate, -1, 1);
    flow.z = plus(times(gate, stored), times(rest, local));
    flow.pattern = plus(times(gate, retrieved), times(rest, flow.pattern));
}
void referenceNearestScores(ReferenceFlow& flow, PartValues values) {
    const int64_t length = values.integer("length");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s)
                if (!isSameSegment(t, s, length)) flow.scores.at(h, t, s) = kMasked;
}
void referenceNearest(ReferenceFlow& flow, PartValues values) {
    const int64_t length = values.integer("length");
    const auto neighbours = static_cast<size_t>(values.integer("neighbours"));
    for (int64_t h = 0; h < flow.heads; ++h) {
        const double gate = 1 / (1 + std::exp(-flow.parameters.at("memory.gate").at(h, 0, 0)));
        for (int64_t t = 0; t < flow.queries; ++t) {
            std::vector<std::pair<double, int64_t>> stored;
            for (int64_t s = 0; s < flow.keys && s / length < t / length; ++s) {
                double dot = 0;
                for (int64_t d = 0; d < flow.width; ++d) dot += flow.q.at(h, t, d) * flow.k.at(h, s, d);
                stored.emplace_back(dot / std::sqrt(static_cast<double>(flow.width)), s);
            }
            std::ranges::sort(stored, std::greater{});
            stored.resize(std::min(stored.size(), neighbours));
            double sum = 0;
            for (const auto& [score, s] : stored) sum += std::exp(score);
            for (int64_t s = 0; s < flow.keys; ++s) flow.pattern.at(h, t, s) *= 1 - gate;
            for (const auto& [score, s] : stored) flow.pattern.at(h, t, s) += gate * std::exp(score) / sum;
        }
    }
}

} // namespace

const Part kNoMemory{.id = "none",
                     .slot = Slot::Memory,
                     .title = "No memory",
                     .idea = "A query sees only the keys of its own sequence. Keys that the mask hides are lost.",
                     .formula = "S = T",
                     .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2", "arXiv:1706.03762"},
                     .time = "0",
                     .memory = "0"};

const Part kSegmentMemory{.id = "segments",
                          .slot = Slot::Memory,
                          .title = "Segment recurrence (Transformer-XL)",
                          .idea = "The sequence is cut into segments. Each segment sees itself and the states of the "
                                  "segment before it, through which no gradient flows; with every layer, information "
                                  "travels one segment further.",
                          .formula = "K = W_K [stop(h_{n-1}), h_n], V = W_V [stop(h_{n-1}), h_n]",
                          .source = {"Dai et al.", 2019,
                                     "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context",
                                     "section 3.2", "arXiv:1901.02860"},
                          .params = kSegmentParams,
                          .time = "O(T L D) for segments of L",
                          .memory = "O(L C) a layer carried over",
                          .hooks = {{Stage::Bias, buildSegmentKeys, referenceNothing},
                                    {Stage::Mask, buildSegmentScores, referenceSegments},
                                    {Stage::Weights, buildSegmentValues, referenceNothing}},
                          .stopsStates = true,
                          .needsEqualLengths = true};

const Part kNearestMemory{
    .id = "nearest",
    .slot = Slot::Memory,
    .title = "Nearest neighbours (Memorizing Transformer)",
    .idea = "Older keys and values are stored, and each query retrieves the few that match it best. A learned gate "
            "for each head mixes the retrieved values with the visible ones.",
    .formula = "z = g z_retrieved + (1 - g) z_local, g = sigma(b_h)",
    .source = {"Wu et al.", 2022, "Memorizing Transformers", "section 3.1", "arXiv:2203.08913"},
    .params = kNearestParams,
    .time = "O(T S D) exact search",
    .memory = "O(S C) stored",
    .hooks = {{Stage::Mask, buildNearestScores, referenceNearestScores},
              {Stage::Weights, buildNearest, referenceNearest}},
    .needsEqualLengths = true};

} // namespace attn
