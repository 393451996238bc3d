#include "engine/ops/lens.h"

#include "engine/host/pattern.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace attn {
namespace {

enum Word {
    Heads = 2,
    Head,
    FirstRow,
    RowStep,
    RowLevel,
    RowCount,
    FirstKey,
    ColumnLevel,
    Columns,
    First,
    Step,
    FirstSeen,
    Words = 16
};

constexpr int32_t kRowsOfSet = 16, kKeysOfStrip = 8; // the latter as log2

int32_t quotient(int32_t a, int32_t b) { return (a + b - 1) / b; }

std::array<int32_t, 16> wordsOf(const LensBand& band, int32_t x, int32_t y) {
    return {x,
            y,
            band.heads,
            band.head,
            band.firstRow,
            band.rowStep,
            band.rowLevel,
            band.rowCount,
            band.firstKey,
            band.columnLevel,
            band.columns,
            band.statistics,
            band.statisticsStep,
            band.firstSeen};
}

void requireView(std::span<const TensorType> inputs, size_t view, std::string_view op) {
    requireInputs(inputs, view + 1, op);
    requireAttention(inputs, op);
    require(inputs[view].dtype == DType::I32 && inputs[view].shape == Shape{Words}, op, "the view must be I32 [16]");
    require(inputs[4].shape == Shape{inputs[0].shape[1]}, op, "there must be one slope for each head");
}

/// Scores of one row, with ALiBi's slope.
std::vector<double> scoresOf(const ReferenceCall& call, const double* view, int64_t t, int64_t head) {
    const ReferenceTensor &queryAt = call.inputs[2], &keyAt = call.inputs[3];
    std::vector<double> scores = referenceScores(call, call.inputs[0], call.inputs[1], queryAt, keyAt, t, head);
    for (size_t s = 0; s < scores.size(); ++s)
        if (static_cast<double>(s) < view[FirstSeen])
            scores[s] = kMasked;
        else if (scores[s] > kMasked)
            scores[s] -= call.inputs[4].data[head] * std::abs(queryAt.data[t] - keyAt.data[s]);
    return scores;
}

/// The sizes and options of a node with ALiBi's slopes, and the band of its view.
struct HostLens {
    host::Attention problem;
    host::Band band;

    HostLens(const HostAttention& of, const HostRun& run, size_t view, int64_t statisticsOfHead) : problem(of.of(run)) {
        const int32_t* words = run.integers(view);
        problem.slopes = run.inputs[4];
        problem.firstSeen = words[FirstSeen];
        band = {.firstHead = words[Head],
                .heads = words[Heads],
                .firstRow = words[FirstRow],
                .rowStep = words[RowStep],
                .rowCount = words[RowCount],
                .statistics = words[First],
                .statisticsStep = words[Step],
                .statisticsOfHead = statisticsOfHead};
    }
};

// lensStatistics: q, k, queryPosition, keyPosition, slopes, view ------------------------------------------------------

std::vector<TensorType> inferStatistics(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireView(inputs, 5, "lens_statistics");
    const int64_t heads = attributes.integer("heads");
    const auto live = heads == 1 ? std::optional(StepScalar::QueryLength) : std::nullopt;
    return {{.shape = {heads * attributes.integer("rows"), 4}, .liveRows = live}};
}

void referenceStatistics(const ReferenceCall& call) {
    const double* view = call.inputs[5].data;
    const auto word = [&](Word at) { return static_cast<int64_t>(view[at]); };
    for (int64_t head = 0; head < word(Heads); ++head)
        for (int64_t r = 0; r < word(RowCount); ++r) {
            const RowStatistics row =
                statisticsOf(scoresOf(call, view, word(FirstRow) + r * word(RowStep), word(Head) + head));
            double* out = call.outputs[0].row(head * call.attributes.integer("rows") + r);
            out[0] = row.maximum * std::numbers::log2e;
            out[1] = row.inverseSum;
        }
}

std::vector<Dispatch> dispatchStatistics(const OpTypes& types, const KernelTraits& traits) {
    const Lanes8 lanes(traits);
    std::vector<uint32_t> push = attentionPush(types);
    push.push_back(u32(types.attributes.integer("rows")));
    return {{.shader = "view/lens_statistics",
             .bindings = {load4(0), load4(1), readInput(2), readInput(3), readInput(4), readInput(5), writeOutput(0)},
             .push = push,
             .specialisation = {8, lanes.sets, 0, lanes.isExact},
             .indirectFrom = readInput(5)}};
}

HostKernel hostStatistics(const OpTypes& types) {
    return [problem = HostAttention(types, false), rows = types.attributes.integer("rows")](const HostRun& run) {
        const HostLens lens(problem, run, 5, rows);
        host::bandStatistics(lens.problem, lens.band, run.outputs[0], run.pool);
    };
}

// lensTile: q, k, queryPosition, keyPosition, slopes, statistics, view ------------------------------------------------

std::vector<TensorType> inferTile(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireView(inputs, 6, "lens_tile");
    require(inputs[5].shape.columns() == 4, "lens_tile", "statistics must be [.., 4]");
    require(inputs[5].shape[0] % attributes.integer("heads") == 0, "lens_tile",
            "every head must have the same number of statistics");
    return {{.shape = {attributes.integer("heads") * attributes.integer("rows"), attributes.integer("columns")}}};
}

void referenceTile(const ReferenceCall& call) {
    const double* view = call.inputs[6].data;
    const auto word = [&](Word at) { return static_cast<int64_t>(view[at]); };
    const ReferenceTensor& statistics = call.inputs[5];
    const int64_t T = call.inputs[0].shape[0], S = liveKeys(call, call.inputs[1].shape[0]);
    const int64_t rows = (word(RowCount) + (int64_t{1} << word(RowLevel)) - 1) >> word(RowLevel);
    const bool isMean = call.attributes.flag("mean");
    const int64_t heads = call.attributes.integer("heads"), statisticsOfHead = statistics.shape[0] / heads;
    for (int64_t at = 0; at < word(Heads) * rows; ++at) {
        const int64_t head = at / rows, y = at % rows;
        double* out = call.outputs[0].row(head * call.attributes.integer("rows") + y);
        std::vector<double> pooled(static_cast<size_t>(word(Columns)), 0);
        const int64_t end = std::min(word(RowCount), (y + 1) << word(RowLevel));
        for (int64_t r = y << word(RowLevel); r < end; ++r) {
            const int64_t t = word(FirstRow) + r * word(RowStep);
            if (t >= T) continue;
            const double* row = statistics.row(head * statisticsOfHead + word(First) + r * word(Step));
            const std::vector<double> scores = scoresOf(call, view, t, word(Head) + head);
            for (int64_t s = word(FirstKey); s < S; ++s) {
                const auto x = static_cast<size_t>((s - word(FirstKey)) >> word(ColumnLevel));
                if (x >= pooled.size()) break;
                const double score = scores[static_cast<size_t>(s)];
                const double p = score <= kMasked ? 0 : std::exp2(score * std::numbers::log2e - row[0]) * row[1];
                pooled[x] = isMean ? pooled[x] + p : std::max(pooled[x], p);
            }
        }
        for (int64_t x = 0; x < word(Columns); ++x) {
            const int64_t first = word(FirstKey) + (x << word(ColumnLevel));
            const int64_t cells =
                (end - (y << word(RowLevel))) *
                (std::min(first + (int64_t{1} << word(ColumnLevel)), S) - std::max(first, word(FirstSeen)));
            const double value = pooled[static_cast<size_t>(x)];
            out[x] = !isMean ? value : cells > 0 ? value / static_cast<double>(cells) : 0;
        }
    }
}

std::vector<Dispatch> dispatchTile(const OpTypes& types, const KernelTraits& traits) {
    const Lanes8 lanes(traits);
    std::vector<uint32_t> push = attentionPush(types);
    const int64_t heads = types.attributes.integer("heads");
    push.insert(push.end(), {u32(types.outputs[0].shape.rowStride()), u32(types.attributes.integer("rows")),
                             u32(types.inputs[5].shape[0] / heads)});
    const uint32_t isMean = types.attributes.flag("mean") ? 1 : 0, isFine = types.attributes.flag("fine") ? 1 : 0;
    return {{.shader = "view/lens_tile",
             .bindings = {load4(0), load4(1), readInput(2), readInput(3), readInput(4), load4(5), readInput(6),
                          writeOutput(0)},
             .push = push,
             .specialisation = {8, lanes.sets, isMean, lanes.isExact, isFine},
             .indirectFrom = readInput(6)}};
}

HostKernel hostTile(const OpTypes& types) {
    const int64_t statistics = types.inputs[5].shape[0] / types.attributes.integer("heads");
    const bool isMean = types.attributes.flag("mean");
    return [=, problem = HostAttention(types, false), rows = types.attributes.integer("rows"),
            stride = types.outputs[0].shape.rowStride()](const HostRun& run) {
        const HostLens lens(problem, run, 6, statistics);
        const int32_t* words = run.integers(6);
        host::bandPixels(lens.problem, lens.band,
                         {.rowLevel = words[RowLevel],
                          .columnLevel = words[ColumnLevel],
                          .firstKey = words[FirstKey],
                          .columns = words[Columns],
                          .isMean = isMean,
                          .rowsOfHead = rows,
                          .stride = stride},
                         run.inputs[5], run.outputs[0], run.pool);
    };
}

// lensDistances: q, k, queryPosition, keyPosition, slopes, statistics, view -------------------------------------------

std::vector<TensorType> inferDistances(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireView(inputs, 6, "lens_distances");
    require(inputs[5].shape.columns() == 4, "lens_distances", "statistics must be [.., 4]");
    return {{.shape = {(attributes.integer("rows") + kRowsOfSet - 1) / kRowsOfSet, kDistanceBins}}};
}

void referenceDistances(const ReferenceCall& call) {
    const double* view = call.inputs[6].data;
    const auto word = [&](Word at) { return static_cast<int64_t>(view[at]); };
    for (int64_t r = 0; r < word(RowCount); ++r) {
        const int64_t t = word(FirstRow) + r * word(RowStep);
        const double* row = call.inputs[5].row(word(First) + r * word(Step));
        const std::vector<double> scores = scoresOf(call, view, t, word(Head));
        for (size_t s = 0; s < scores.size(); ++s) {
            const auto away = static_cast<uint32_t>(std::abs(call.inputs[2].data[t] - call.inputs[3].data[s]));
            if (scores[s] > kMasked)
                call.outputs[0].row(r / kRowsOfSet)[std::bit_width(away)] +=
                    std::exp2(scores[s] * std::numbers::log2e - row[0]) * row[1];
        }
    }
}

std::vector<Dispatch> dispatchDistances(const OpTypes& types, const KernelTraits& traits) {
    const Lanes8 lanes(traits);
    return {{.shader = "view/lens_distances",
             .bindings = {load4(0), load4(1), readInput(2), readInput(3), readInput(4), load4(5), readInput(6),
                          writeOutput(0)},
             .push = attentionPush(types),
             .specialisation = {8, lanes.sets, 0, lanes.isExact},
             .indirectFrom = readInput(6)}};
}

HostKernel hostDistances(const OpTypes& types) {
    return [problem = HostAttention(types, false)](const HostRun& run) {
        const HostLens lens(problem, run, 6, 0);
        host::bandDistances(lens.problem, lens.band, kRowsOfSet, kDistanceBins, run.inputs[5], run.outputs[0],
                            run.pool);
    };
}

Attributes lensAttributes(const AttentionInputs& inputs, const AttentionRule& rule, int64_t rows, int64_t heads) {
    Attributes attributes = ruleAttributes(rule, inputs);
    attributes.set("rows", static_cast<double>(rows));
    attributes.set("heads", static_cast<double>(heads));
    return attributes;
}

} // namespace

const Op kLensStatistics{.name = "lens_statistics",
                         .infer = inferStatistics,
                         .reference = referenceStatistics,
                         .dispatch = dispatchStatistics,
                         .host = hostStatistics};
const Op kLensTile{
    .name = "lens_tile", .infer = inferTile, .reference = referenceTile, .dispatch = dispatchTile, .host = hostTile};

const Op kLensDistances{.name = "lens_distances",
                        .infer = inferDistances,
                        .reference = referenceDistances,
                        .dispatch = dispatchDistances,
                        .host = hostDistances};

int32_t lensSets(const KernelTraits& traits) { return static_cast<int32_t>(Lanes8(traits).sets); }

int64_t lensTokens(const KernelTraits& traits, int64_t width) {
    if (!traits.prefersSubgroupTiles) return std::numeric_limits<int32_t>::max();
    const int64_t rounds = (width + 3) / 4 + 3; // per 32 keys: the dot products, the search of the next, the loop
    return 65'535 / rounds * 32;
}

std::array<int32_t, 16> LensBand::statisticsWords() const {
    return wordsOf(*this, quotient(rowCount, kRowsOfSet * setsOfLanes), 1);
}

std::array<int32_t, 16> LensBand::tileWords() const {
    const int32_t strips = quotient(columns << columnLevel, 1 << std::max(kKeysOfStrip, columnLevel));
    return wordsOf(*this, strips, quotient(quotient(rowCount, std::max(kRowsOfSet, 1 << rowLevel)), setsOfLanes));
}

Tensor lensStatistics(const AttentionInputs& inputs, Tensor slopes, Tensor view, const AttentionRule& rule,
                      int64_t rows, int64_t heads) {
    return inputs.q.graph->add(kLensStatistics,
                               {inputs.q, inputs.k, inputs.queryPosition, inputs.keyPosition, slopes, view},
                               lensAttributes(inputs, rule, rows, heads));
}

Tensor lensTile(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view, const AttentionRule& rule,
                Pooling pooling, bool isFine, int64_t rows, int64_t columns, int64_t heads) {
    Attributes attributes = lensAttributes(inputs, rule, rows, heads);
    attributes.set("columns", static_cast<double>(columns));
    attributes.set("mean", pooling == Pooling::Mean ? 1 : 0);
    attributes.set("fine", isFine ? 1 : 0);
    return inputs.q.graph->add(kLensTile,
                               {inputs.q, inputs.k, inputs.queryPosition, inputs.keyPosition, slopes, statistics, view},
                               attributes);
}

Tensor lensDistances(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view,
                     const AttentionRule& rule, int64_t rows) {
    return inputs.q.graph->add(kLensDistances,
                               {inputs.q, inputs.k, inputs.queryPosition, inputs.keyPosition, slopes, statistics, view},
                               lensAttributes(inputs, rule, rows, 1));
}

} // namespace attn
