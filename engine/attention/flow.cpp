#include "engine/attention/flow.h"

#include "engine/attention/execution.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/local_attention.h"
#include "engine/attention/mask/blocks.h"
#include "engine/attention/part.h"
#include "engine/attention/spec_hooks.h"
#include "engine/attention/terms.h"
#include "engine/core/bit_row.h"
#include "engine/core/error.h"
#include "engine/core/random_rows.h"
#include "engine/ops/block_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn {
namespace {

using namespace terms;

bool formsScores(const AttentionSpec& spec) {
    return !spec.part(Slot::Mixer).mix.replacesAttention && spec.part(Slot::Normaliser).mix.usesScores;
}

/// The name of a constant of a mask. While a model trains, narrower windows share a store with those of full width.
std::string nameOf(const MaskExpression& mask, const char* part) {
    return mask.divisor() == 1 ? fmt::format("mask.{}", part) : fmt::format("mask.{}:1/{}", part, mask.divisor());
}

using Label = std::function<int64_t(int64_t, int64_t)>;

/// The lists of tiles that the fused kernel visits: one set for all heads, or one for each.
/// @param seeing as for maskBlocks  @param label of a cell; null for none
TileLists tileLists(AttentionFlow& flow, const MaskExpression& mask, QueryRange seeing = {}, const Label& label = {}) {
    const int64_t lists = mask.dependsOnHead() ? flow.heads : 1;
    std::array<std::vector<float>, 6> numbers; // begins, tiles, columnBegins, columnTiles, bits, labels
    auto& [begins, tiles, columnBegins, columnTiles, bits, labels] = numbers;
    bits.assign(16, 65535); // a tile in which everything is visible
    if (label) labels.assign(256, 0);
    for (int64_t list = 0; list < lists; ++list) {
        MaskBlocks blocks = maskBlocks(mask,
                                       {.queries = flow.queries,
                                        .keys = flow.keys,
                                        .head = static_cast<int>(list),
                                        .heads = static_cast<int>(flow.heads),
                                        .layer = static_cast<int>(flow.layer)},
                                       seeing);
        if (label) addLabels(blocks, label);
        const size_t firstTile = tiles.size() / 2, firstBits = bits.size() / 16;
        const auto append = [&](const std::vector<int32_t>& from, const std::vector<MaskBlocks::Block>& blocksOf,
                                std::vector<float>& beginsTo, std::vector<float>& tilesTo) {
            for (int32_t begin : from) beginsTo.push_back(static_cast<float>(firstTile + static_cast<size_t>(begin)));
            for (const auto& [at, row] : blocksOf) {
                tilesTo.push_back(static_cast<float>(at));
                tilesTo.push_back(row < 0 ? 0.0f : static_cast<float>(firstBits + static_cast<size_t>(row)));
            }
        };
        append(blocks.rowBegin, blocks.blocks, begins, tiles);
        append(blocks.columnBegin, blocks.columnBlocks, columnBegins, columnTiles);
        for (size_t tile = 0; tile < blocks.bits.size(); tile += MaskBlocks::kQueries)
            for (int half = 0; half < 2; ++half)
                for (size_t row = 0; row < MaskBlocks::kQueries; ++row)
                    bits.push_back(static_cast<float>(blocks.bits[tile + row] >> (16 * half) & 65535u));
        labels.insert(labels.end(), blocks.labels.begin(), blocks.labels.end());
    }
    constexpr size_t kExact = size_t{1} << 24; // whole numbers in a float
    if (tiles.size() / 2 > kExact)
        throw Error({.what = fmt::format("the mask has {} visible tiles of {} x {} cells; the kernel allows at most {}",
                                         tiles.size() / 2, MaskBlocks::kQueries, MaskBlocks::kKeys, kExact),
                     .where = mask.text(),
                     .hint = "use fewer tokens or a sparser mask"});
    if (tiles.empty()) tiles.assign(2, 0), columnTiles.assign(2, 0); // never read
    const bool seeAll = seeing.begin == 0 && seeing.end >= flow.queries;
    const auto constant = [&](const char* name, Shape shape, std::vector<float>& values) {
        const std::string of = seeAll ? "" : fmt::format(":{}-{}", seeing.begin, std::min(seeing.end, flow.queries));
        return flow.constant(nameOf(mask, name) + of, std::move(shape), std::move(values));
    };
    const auto count = [](const std::vector<float>& values) { return static_cast<int64_t>(values.size()); };
    const Shape byQueries{lists, count(begins) / lists}, byKeys{lists, count(columnBegins) / lists};
    const Shape pairs{count(tiles)}, words{count(bits) / 16, 16}, cells{words[0], 256};
    return {.begins = constant("begins", byQueries, begins),
            .tiles = constant("tiles", pairs, tiles),
            .columnBegins = constant("column_begins", byKeys, columnBegins),
            .columnTiles = constant("column_tiles", pairs, columnTiles),
            .bits = constant("bits", words, bits),
            .labels = label ? constant("labels", cells, labels) : Tensor()};
}

/// The scores of a fused kernel, as the parts give them; `learned` holds the whole bias.
FusedScores fusedScores(AttentionFlow& flow) {
    FusedScores scores{.q = flow.q, .k = flow.k};
    for (const Stage stage : {Stage::Scores, Stage::Bias, Stage::Mask, Stage::Normalise})
        forHooks(flow.spec, stage, [&](const Hook& hook, PartValues values) { hook.fuse(flow, values, scores); });
    if (!scores.bias.empty()) {
        const Tensor fixed = flow.constant("bias", {flow.heads, flow.queries + flow.keys - 1}, std::move(scores.bias));
        scores.learned = scores.learned ? plus(scores.learned, fixed) : fixed;
    }
    return scores;
}

/// The mask of a fused kernel.
MaskExpression maskOf(const AttentionFlow& flow, const FusedScores& scores) {
    const MaskExpression mask = flow.spec.mask.staticPart();
    return scores.reach > 0 ? mask & MaskExpression::within(scores.reach) : mask;
}

/// z of some queries. @param seeing the queries  @param first rows of z before them, or null
Tensor attended(AttentionFlow& flow, const FusedScores& scores, Tensor v, QueryRange seeing, Tensor first = {}) {
    return blockAttention({.q = scores.q,
                           .k = scores.k,
                           .v = v,
                           .lists = tileLists(flow, maskOf(flow, scores), seeing, scores.label),
                           .bias = scores.learned,
                           .labelVectors = scores.labelVectors,
                           .first = first},
                          scores.scale);
}

/// Whether each of the first queries sees some key in every head.
bool seeSomething(const AttentionFlow& flow, const MaskExpression& mask, int64_t queries) {
    for (int head = 0; head < (mask.dependsOnHead() ? flow.heads : 1); ++head)
        for (const int32_t seen : maskBlocks(mask,
                                             {.queries = flow.queries,
                                             .keys = flow.keys,
                                             .head = head,
                                             .heads = static_cast<int>(flow.heads),
                                             .layer = static_cast<int>(flow.layer)},
                                             {0, queries})
                                      .seenPerRow)
            if (seen == 0) return false;
    return true;
}

/// z of the global tokens, whose keys and values have projections of their own. [B,H,g,D]
///
/// Where few queries read them, no key is projected: q . (W x) = (W^T q) . x, and what a bias adds to all scores of a
/// query changes no weight. In the same way, the values are mixed first: sum p (W x + b) = W (sum p x) + b.
Tensor fusedGlobals(AttentionFlow& flow) {
    const int64_t B = flow.batch, H = flow.heads, G = flow.groups, D = flow.width, g = flow.globals;
    AttentionFlow own = flow;
    own.queries = g;
    own.q = flow.globalRows.queries ? flow.globalRows.queries : slice(flow.q, 2, 0, g);
    own.k = flow.globalKeys;
    FusedScores scores = fusedScores(own);
    flow.parameters = own.parameters;
    flow.constants = own.constants;
    const auto &keys = flow.globalRows.keys, &values = flow.globalRows.values;
    if (!keys || scores.k != flow.globalKeys || scores.labelVectors || H * g > G * D ||
        !seeSomething(flow, maskOf(flow, scores), g))
        return attended(flow, scores, flow.globalValues, {0, g});
    const int64_t E = keys->rows.shape()[-1];
    const auto byGroup = [&](Tensor x) { return reshape(x, {B, G, H / G * g, x.shape()[-1]}); };
    scores.q = reshape(batchedMatmul(byGroup(scores.q), keys->weight), {B, H, g, E});
    scores.k = keys->rows;
    Tensor z = product(byGroup(attended(flow, scores, values->rows, {0, g})), values->weight);
    if (values->bias) z = plus(z, values->bias);
    return reshape(z, {B, H, g, D});
}

/// z, without storing scores.
Tensor fused(AttentionFlow& flow) {
    if (!flow.globalKeys) return attended(flow, fusedScores(flow), flow.v, {});
    const Tensor first = fusedGlobals(flow), mixed = flow.q;
    if (flow.globalRows.ordinary) flow.q = flow.globalRows.ordinary;
    const FusedScores scores = fusedScores(flow);
    flow.q = mixed;
    return attended(flow, scores, flow.v, {flow.globals}, first);
}

/// z of a step, without storing scores.
Tensor fusedStep(AttentionFlow& flow) {
    AttentionFlow whole = flow; // its bias holds every distance that the step can meet
    whole.queries = flow.keys;
    whole.positions = {};
    const FusedScores scores = fusedScores(whole);
    flow.parameters = whole.parameters;
    flow.constants = whole.constants;
    return flow.cachedAttention(scores.learned);
}

struct Lengths {
    int64_t queries, keys;
};
/// 1 for each cell that the expression makes visible, else 0. @param size of the whole mask  @param part its first rows
/// and columns to list  @return [H,T,S], or [1,T,S] where heads do not differ
std::vector<float> maskCells(const MaskExpression& mask, int64_t heads, const Lengths& size, const Lengths& part,
                             int64_t layer) {
    std::vector<float> cells;
    BitRow row;
    for (int64_t head = 0; head < heads; ++head)
        for (int64_t query = 0; query < part.queries; ++query) {
            mask.row({.queries = size.queries,
                      .keys = size.keys,
                      .head = static_cast<int>(head),
                      .heads = static_cast<int>(heads),
                      .layer = static_cast<int>(layer)},
                     query, row);
            for (int64_t key = 0; key < part.keys; ++key) cells.push_back(row.test(key) ? 1.0f : 0.0f);
        }
    return cells;
}

/// One key/value head for every query head. @param x [B,G,S,D]  @return [B,H,S,D]
Tensor repeated(const AttentionFlow& flow, Tensor x) {
    const int64_t B = flow.batch, H = flow.heads, G = x.shape()[1], S = x.shape()[2], D = flow.width;
    if (G == H) return x;
    return reshape(broadcast(reshape(x, {B * G, 1, S, D}), {B * G, H / G, S, D}), {B, H, S, D});
}

/// @param queries, keys lengths at which the mask is evaluated
template <class Flow> void requireSound(const Flow& flow, int64_t queries, int64_t keys) {
    const AttentionSpec& spec = flow.spec;
    const auto problems = check(spec, {.isCross = queries != keys,
                                       .headWidth = flow.width,
                                       .queries = queries,
                                       .keys = keys,
                                       .layer = static_cast<int>(flow.layer)});
    if (problems.empty()) return;
    throw Error(
        {.what = problems.front().sentence,
         .where = spec.text(),
         .hint = problems.front().nearest ? "the nearest valid composition: " + problems.front().nearest->text() : ""});
}

} // namespace

Tensor localAttention(AttentionFlow& flow, const MaskExpression& mask, Tensor q, Tensor k, Tensor v) {
    return blockAttention({.q = q, .k = k, .v = v, .lists = tileLists(flow, mask), .bias = {}}, flow.scoreScale());
}

void buildStage(AttentionFlow& flow, Stage stage) {
    forHooks(flow.spec, stage, [&](const Hook& hook, PartValues values) { hook.build(flow, values); });
}

void FusedScores::add(const AttentionFlow& flow, const std::function<double(int64_t, int64_t)>& of) {
    const int64_t count = flow.queries + flow.keys - 1;
    bias.resize(static_cast<size_t>(flow.heads * count));
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t i = 0; i < count; ++i)
            bias[static_cast<size_t>(h * count + i)] += static_cast<float>(of(h, i - flow.queries + 1));
}

namespace {

/// The visible cells, [1|H,T,S]; null if everything is visible.
Tensor maskOf(AttentionFlow& flow) {
    const MaskExpression mask = flow.spec.mask.staticPart();
    if (mask == MaskExpression()) return {};
    const int64_t T = flow.queries, S = flow.keys, heads = mask.dependsOnHead() ? flow.heads : 1;
    if (!flow.isStep())
        return flow.constant(nameOf(mask, "cells"), {heads, T, S}, [=, layer = flow.layer] {
            return maskCells(mask, heads, {T, S}, {T, S}, layer);
        });
    if (flow.isCausal()) {
        const Tensor key = flow.constant("mask.keys", {1, S}, [S] {
            std::vector<float> numbers(static_cast<size_t>(S));
            std::iota(numbers.begin(), numbers.end(), 0.0f);
            return numbers;
        });
        return reshape(affine(binary(reshape(toReal(flow.positions), {T, 1}), key, Binary::Less), -1, 1), {1, T, S});
    }
    const int64_t L = flow.context;
    const Tensor all = flow.constant(nameOf(mask, "rows"), {heads, S, S}, [=, layer = flow.layer] {
        return maskCells(mask, heads, {L, L}, {S, S}, layer);
    });
    return take(all, broadcast(reshape(flow.positions, {1, T}), {heads, T}));
}

/// Keeps a step's keys and values, and gives the later stages those of all tokens.
void remember(AttentionFlow& flow) {
    if (flow.k) flow.newKeys = repeated(flow, flow.k);
    flow.newValues = repeated(flow, flow.v);
    if (!flow.remember) {
        flow.k = flow.v = {};
        return;
    }
    if (flow.k) flow.k = flow.remember("k", flow.k);
    flow.v = flow.remember("v", flow.v);
    if (flow.globalKeys) flow.globalKeys = flow.remember("k_global", flow.globalKeys);
    if (flow.globalValues) flow.globalValues = flow.remember("v_global", flow.globalValues);
}

/// Replaces the scores of global tokens by those with the keys that they read.
void scoreGlobals(AttentionFlow& flow) {
    const Tensor keys = std::exchange(flow.k, flow.globalKeys), scores = std::exchange(flow.scores, {});
    const auto terms = std::exchange(flow.terms, {});
    const auto products = std::exchange(flow.cachedProducts, {}); // of the ordinary keys
    const auto shown = flow.shown;
    for (const Stage stage : {Stage::Scores, Stage::Bias}) buildStage(flow, stage);
    flow.k = keys;
    flow.cachedProducts = products;
    flow.scores = flow.byGlobals(flow.scores, scores);
    for (size_t i = 0; i < terms.size(); ++i) // the same parts in the same order
        flow.terms[i].second = flow.byGlobals(flow.terms[i].second, terms[i].second);
    flow.shown = shown;
}

} // namespace

void requireSound(const AttentionFlow& flow) {
    requireSound(flow, flow.isStep() ? flow.context : flow.queries, flow.isStep() ? flow.context : flow.keys);
}

void buildAttention(AttentionFlow& flow) {
    requireSound(flow);
    const auto run = [&](Stage stage) { buildStage(flow, stage); };
    const bool isOfStream = mixesStream(flow.spec);
    for (Tensor* x : {&flow.q, &flow.k, &flow.v})
        if (!flow.hasInputs && (x == &flow.v) == isOfStream) {
            flow.stream = *x;
            run(Stage::Inputs);
            *x = flow.stream;
        }
    if (flow.rememberedKeys) { // they pass through the same stage as this segment's keys
        const Tensor q = flow.q, k = std::exchange(flow.k, flow.rememberedKeys);
        const auto shown = flow.shown;
        if (flow.spec.part(Slot::Heads).sharesQueryKey) flow.q = flow.rememberedKeys;
        run(Stage::QueriesKeys);
        flow.rememberedKeys = repeated(flow, flow.k);
        flow.rememberedValues = repeated(flow, flow.rememberedValues);
        flow.q = q;
        flow.k = k;
        flow.shown = shown;
    }
    if (!isOfStream) run(Stage::QueriesKeys);
    if (flow.isStep()) {
        remember(flow);
        if (flow.cachedAttention && flow.mayFuse && !flow.changePattern) flow.z = fusedStep(flow);
    } else if (flow.mayFuse && !flow.changePattern && !flow.sequenceMask && isFused(flow.spec)) {
        flow.z = fused(flow);
    }
    const bool isWhole = static_cast<bool>(flow.z); // of global tokens too
    if (flow.k) flow.k = repeated(flow, flow.k);    // mixers have none
    for (Tensor* each : {&flow.v, &flow.globalKeys, &flow.globalValues})
        if (*each) *each = repeated(flow, *each);
    if (flow.v) flow.mask = maskOf(flow);
    const bool hasScores = formsScores(flow.spec);
    if (!hasScores && flow.sequenceMask)
        throw Error({.what = "some tokens must not see each other here, but this composition computes no scores that "
                             "could hide them",
                     .where = flow.spec.text(),
                     .hint = "use a composition that computes scores"});
    if (hasScores) {
        run(Stage::Scores);
        run(Stage::Bias);
        if (flow.globalKeys) scoreGlobals(flow);
        for (const Tensor mask : {flow.mask, flow.sequenceMask})
            if (mask) flow.scores = select(mask, flow.scores, fill(flow.graph, {1, 1}, kMasked));
        run(Stage::Mask);
    }
    run(Stage::Normalise);
    if (hasScores) run(Stage::Weights);
    if (flow.changePattern && flow.pattern) {
        const Tensor own = std::exchange(flow.pattern, flow.changePattern(flow.pattern));
        if (flow.z) flow.z = plus(flow.z, batchedMatmul(minus(flow.pattern, own), flow.v)); // it was own . v
    }
    if (!flow.z) flow.z = flow.cachedMix ? flow.cachedMix(flow.pattern) : batchedMatmul(flow.pattern, flow.v);
    if (flow.globalValues && !isWhole) flow.z = flow.byGlobals(batchedMatmul(flow.pattern, flow.globalValues), flow.z);
    run(Stage::Output);
}

void referenceAttention(ReferenceFlow& flow) {
    const Lengths size{flow.queries, flow.keys};
    requireSound(flow, flow.queries, flow.keys);
    const auto run = [&](Stage stage) {
        forHooks(flow.spec, stage, [&](const Hook& hook, PartValues values) { hook.reference(flow, values); });
    };
    const bool isOfStream = mixesStream(flow.spec);
    for (Dense* x : {&flow.q, &flow.k, &flow.v})
        for (int64_t h = 0; h < x->extents[0] && (x == &flow.v) == isOfStream; ++h) {
            const auto rows = x->extents[1];
            const auto begin = x->data.begin() + h * rows * flow.width;
            flow.stream = Dense({rows, flow.width});
            std::copy_n(begin, rows * flow.width, flow.stream.data.begin());
            run(Stage::Inputs);
            std::ranges::copy(flow.stream.data, begin);
        }
    if (!isOfStream) run(Stage::QueriesKeys);
    for (const float cell : maskCells(flow.spec.mask.staticPart(), flow.heads, size, size, flow.layer))
        flow.mask.push_back(cell != 0);
    const bool hasScores = formsScores(flow.spec);
    if (hasScores) {
        flow.scores = Dense({flow.heads, flow.queries, flow.keys});
        run(Stage::Scores);
        run(Stage::Bias);
        if (flow.globals > 0) {
            const Dense keys = std::exchange(flow.k, flow.globalKeys),
                        own = std::exchange(flow.scores, Dense({flow.heads, flow.queries, flow.keys}));
            run(Stage::Scores);
            run(Stage::Bias);
            flow.k = keys;
            for (int64_t h = 0; h < flow.heads; ++h)
                for (int64_t t = flow.globals; t < flow.queries; ++t)
                    for (int64_t s = 0; s < flow.keys; ++s) flow.scores.at(h, t, s) = own.at(h, t, s);
        }
        for (size_t cell = 0; cell < flow.mask.size(); ++cell)
            if (!flow.mask[cell]) flow.scores.data[cell] = kMasked;
        run(Stage::Mask);
    }
    run(Stage::Normalise);
    if (hasScores) run(Stage::Weights);
    if (flow.z.data.empty()) {
        flow.z = Dense({flow.heads, flow.queries, flow.width});
        for (int64_t h = 0; h < flow.heads; ++h)
            for (int64_t t = 0; t < flow.queries; ++t)
                for (int64_t s = 0; s < flow.keys; ++s)
                    for (int64_t d = 0; d < flow.width; ++d)
                        flow.z.at(h, t, d) +=
                            flow.pattern.at(h, t, s) * (t < flow.globals ? flow.globalValues : flow.v).at(h, s, d);
    }
    run(Stage::Output);
}

} // namespace attn
