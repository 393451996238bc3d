#include "engine/attention/mask/segments.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <array>

// ETC's labels of pairs of tokens. Each of the four pieces of its attention has vectors of its own: by the distance
// within the global and within the long input, and between them by whether the one belongs to the other.

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 3> kParams{
    {{"g", "Global tokens", "The first g tokens are the global input; each stands for one segment",
      Param::Kind::Integer, 1, 1024, 1, 4},
     {"n", "Length of a segment", "Tokens of the long input in a segment", Param::Kind::Integer, 1, 1024, 1, 15},
     {"clip", "Clip", "Larger distances share the vector of this one", Param::Kind::Integer, 1, 1024, 1, 8}}};

// Vectors of every head: [H, 2 clip + 1, D] by distance, [H, 2, D] for "other" and "own".
constexpr const char *kGlobalToGlobal = "position.g2g", *kLongToLong = "position.l2l", *kGlobalToLong = "position.g2l",
                     *kLongToGlobal = "position.l2g";

struct Labels {
    Segments segments;
    int64_t clip;

    explicit Labels(PartValues values)
        : segments{.count = values.integer("g"), .length = values.integer("n")}, clip(values.integer("clip")) {}

    int64_t byDistance(int64_t distance) const { return std::clamp(distance, -clip, clip) + clip; }
    bool isOwn(int64_t t, int64_t s) const {
        const int64_t segment = segments.of(t);
        return segment >= 0 && segment == segments.of(s);
    }
    /// Of the vectors of the global input, and of those of the long input: by distance, then "other" and "own".
    int64_t ofEach() const { return 2 * clip + 3; }
    /// The number of a pair among all vectors, those of the global input first.
    int64_t label(int64_t t, int64_t s) const {
        const bool fromGlobal = segments.isGlobal(t), isWithin = fromGlobal == segments.isGlobal(s);
        const int64_t row = isWithin ? byDistance(s - t) : 2 * clip + 1 + (isOwn(t, s) ? 1 : 0);
        return row + (fromGlobal ? 0 : ofEach());
    }
    /// The table of a pair, and its row.
    std::pair<const char*, int64_t> of(int64_t t, int64_t s) const {
        const bool fromGlobal = segments.isGlobal(t), toGlobal = segments.isGlobal(s);
        if (fromGlobal == toGlobal) return {fromGlobal ? kGlobalToGlobal : kLongToLong, byDistance(s - t)};
        return {fromGlobal ? kGlobalToLong : kLongToGlobal, isOwn(t, s) ? 1 : 0};
    }
};

Tensor vectors(AttentionFlow& flow, const char* name, int64_t rows) {
    return flow.parameter(name, {flow.heads, rows, flow.width}, {InitialValue::Kind::Normal});
}

/// The vectors of all labels, in their order.
std::array<Tensor, 4> allVectors(AttentionFlow& flow, const Labels& labels) {
    const int64_t distances = 2 * labels.clip + 1;
    return {vectors(flow, kGlobalToGlobal, distances), vectors(flow, kGlobalToLong, 2),
            vectors(flow, kLongToLong, distances), vectors(flow, kLongToGlobal, 2)};
}

/// q . a of the label by distance, for every cell. @return [B,H,T,S]
Tensor byDistance(AttentionFlow& flow, const Labels& labels, Tensor table) {
    const int64_t H = flow.heads, count = flow.queries + flow.keys - 1;
    const Tensor rows = toInteger(
        reshape(flow.byDistance("position.etc_rows", 1,
                                [labels](int64_t d, int64_t) { return static_cast<double>(labels.byDistance(d)); }),
                {1, count}));
    return diagonals(product(flow.q, take(table, broadcast(rows, {H, count}))), flow.keys);
}

/// q . a of the label "own" where a token belongs to a global one, else of "other". @return [B,H,T,S]
Tensor byBelonging(AttentionFlow& flow, Tensor isOwn, Tensor table) {
    const Tensor both = product(flow.q, table); // [B,H,T,2]
    return select(isOwn, slice(both, 3, 1, 1), slice(both, 3, 0, 1));
}

void build(AttentionFlow& flow, PartValues values) {
    const Labels labels(values);
    const auto [globalToGlobal, globalToLong, longToLong, longToGlobal] = allVectors(flow, labels);
    const auto cells = [&](const char* name, const std::function<bool(int64_t, int64_t)>& holds) {
        return flow.byCell(name, [holds](int64_t t, int64_t s) { return holds(t, s) ? 1.0 : 0.0; });
    };
    const auto isGlobal = [labels](int64_t position) { return labels.segments.isGlobal(position); };
    const Tensor isOwn = cells("position.own", [labels](int64_t t, int64_t s) { return labels.isOwn(t, s); }),
                 fromGlobal = cells("position.from_global", [=](int64_t t, int64_t) { return isGlobal(t); }),
                 isWithin = cells("position.within", [=](int64_t t, int64_t s) { return isGlobal(t) == isGlobal(s); });
    const Tensor within =
        select(fromGlobal, byDistance(flow, labels, globalToGlobal), byDistance(flow, labels, longToLong));
    const Tensor between =
        select(fromGlobal, byBelonging(flow, isOwn, globalToLong), byBelonging(flow, isOwn, longToGlobal));
    const Tensor term = affine(select(isWithin, within, between), flow.scoreScale(), 0); // [B,H,T,S]
    flow.show("etc.labels", term);
    flow.addToScores("etc.labels", term);
}

void fuse(AttentionFlow& flow, PartValues values, FusedScores& fused) {
    const Labels labels(values);
    fused.labelVectors = concatenate(allVectors(flow, labels), 1);
    fused.label = [labels](int64_t t, int64_t s) { return labels.label(t, s); };
}

void reference(ReferenceFlow& flow, PartValues values) {
    const Labels labels(values);
    for (int64_t t = 0; t < flow.queries; ++t)
        for (int64_t s = 0; s < flow.keys; ++s) {
            const auto [name, row] = labels.of(t, s);
            const Dense& table = flow.parameters.at(name);
            for (int64_t h = 0; h < flow.heads; ++h)
                for (int64_t d = 0; d < flow.width; ++d)
                    flow.scores.at(h, t, s) += flow.scoreScale() * flow.q.at(h, t, d) * table.at(h, row, d);
        }
}

} // namespace

const Part kEtcPosition{
    .id = "etc",
    .slot = Slot::Position,
    .title = "ETC labels",
    .idea = "Every pair of tokens has a label, and every label a learned vector that is added to the key. Within the "
            "global input and within the text behind it the label is the distance, up to a limit; between them it says "
            "whether the word belongs to the segment for which the global token stands.",
    .formula = "s(i,j) = q_i . (k_j + a[label(i,j)]) / sqrt(D)",
    .source = {"Ainslie et al.", 2020, "ETC: Encoding Long and Structured Inputs in Transformers", "section 3",
               "arXiv:2004.08483"},
    .params = kParams,
    .time = "O(T clip D)",
    .memory = "O(H clip D) parameters",
    .whole = "heads=multi_head(4), position=etc(4, 15, 8), mask=etc_hard(4, 8, 15)",
    .hooks = {{Stage::Bias, build, reference, fuse}},
    .position = {.namesSegments = true, .labelsCells = true},
    .actsOnScores = true};

} // namespace attn
