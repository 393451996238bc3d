#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <cmath>

// Projects keys and values to a fixed number of rows first.

namespace attn {
namespace {

using namespace terms;

enum class Projection { Learned, MeanPool, MaxPool, Convolution };

constexpr std::array<Param, 3> kLinformerParams{
    {{"rank", "Rank", "Rows to which keys and values are projected", Param::Kind::Integer, 1, 1024, 1, 16},
     {"projection", "Projection", "0 learned matrix, 1 mean of blocks, 2 maximum of blocks, 3 convolution",
      Param::Kind::Integer, 0, 3, 1, 0},
     {"shared", "Shared",
      "What shares a projection: -1 nothing, each head has two of its own, 0 all heads (headwise), 1 also keys and "
      "values (key-value), 2 also all layers (layerwise)",
      Param::Kind::Integer, -1, 2, 1, 0}}};

enum Sharing { ByNothing = -1, ByHeads, ByKeysAndValues, ByLayers };

/// Blocks of equal length that cover all keys; the last may be shorter.
struct Blocks {
    int64_t length, count;
    Blocks(int64_t keys, int64_t rank) : length((keys + rank - 1) / rank), count((keys + length - 1) / length) {}
};

/// [blocks, S]: each row takes the mean of its block.
Tensor meanRows(AttentionFlow& flow, const Blocks& blocks) {
    const int64_t S = flow.keys;
    std::vector<float> means(static_cast<size_t>(blocks.count * S), 0);
    for (int64_t j = 0; j < S; ++j) {
        const int64_t block = j / blocks.length, size = std::min(blocks.length, S - block * blocks.length);
        means[static_cast<size_t>(block * S + j)] = 1 / static_cast<float>(size);
    }
    return flow.constant("normaliser.means", {blocks.count, S}, std::move(means));
}

std::string nameOf(PartValues values, bool isKey) {
    return values.integer("shared") >= ByKeysAndValues || isKey ? "normaliser.E" : "normaliser.F";
}

/// What projects keys or values: [rows, columns], or [H, rows, columns] if each head has its own.
Tensor learned(AttentionFlow& flow, PartValues values, bool isKey, int64_t rows, int64_t columns) {
    const int shared = values.integer("shared");
    const InitialValue initial{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(columns))};
    const std::string name = nameOf(values, isKey);
    if (shared == ByNothing) return flow.parameter(name, {flow.heads, rows, columns}, initial);
    return shared == ByLayers ? flow.stackParameter(name, {rows, columns}, initial)
                              : flow.parameter(name, {rows, columns}, initial);
}

/// The same in a reference, for one head.
double learned(const ReferenceFlow& flow, PartValues values, bool isKey, int64_t head, int64_t row, int64_t column) {
    const Dense& all = flow.parameters.at(nameOf(values, isKey));
    return values.integer("shared") == ByNothing ? all.at(head, row, column) : all.at(row, column);
}

/// @param x [B,H,S,D]  @return [B,H,rank,D]
Tensor projected(AttentionFlow& flow, Tensor x, PartValues values, bool isKey) {
    const int64_t rank = values.integer("rank");
    const int64_t B = flow.batch, H = flow.heads, S = flow.keys, D = flow.width;
    const Blocks blocks(S, rank);
    const auto inBlocks = [&](Tensor rows) { return pad(rows, 2, 0, blocks.count * blocks.length - S); };
    switch (static_cast<Projection>(values.integer("projection"))) {
    case Projection::Learned:
        return batchedMatmul(learned(flow, values, isKey, rank, S), x); // [rank,S] . [B,H,S,D]
    case Projection::MeanPool:
        return batchedMatmul(meanRows(flow, blocks), x);
    case Projection::MaxPool: {
        std::vector<float> absent(static_cast<size_t>(blocks.count * blocks.length), 0);
        for (size_t j = static_cast<size_t>(S); j < absent.size(); ++j) absent[j] = static_cast<float>(kMasked);
        const Tensor penalty =
            flow.constant("normaliser.absent", {1, blocks.count, blocks.length, 1}, std::move(absent));
        const Tensor rows = reshape(inBlocks(x), {B * H, blocks.count, blocks.length, D});
        return reshape(reduce(plus(rows, penalty), Reduction::Maximum, {2}), {B, H, blocks.count, D});
    }
    case Projection::Convolution:
        break;
    }
    const int64_t wide = blocks.length * D;
    return product(reshape(inBlocks(x), {B, H, blocks.count, wide}),
                   learned(flow, values, isKey, D, wide)); // stride = length of the kernel
}

void buildLinformer(AttentionFlow& flow, PartValues values) {
    const Tensor k = projected(flow, flow.k, values, true), v = projected(flow, flow.v, values, false);
    const Tensor weights =
        softmax(affine(product(flow.q, k), 1 / std::sqrt(static_cast<double>(flow.width)), 0)); // [B,H,T,rank]
    flow.z = batchedMatmul(weights, v);
    flow.show("linformer.weights", weights);
    flow.show("linformer.keys", k);
    flow.show("linformer.values", v);
    Tensor rows; // [rank,S] or [H,rank,S], where projecting is a product
    const auto projection = static_cast<Projection>(values.integer("projection"));
    if (projection == Projection::Learned) rows = learned(flow, values, false, values.integer("rank"), flow.keys);
    if (projection == Projection::MeanPool) rows = meanRows(flow, Blocks(flow.keys, values.integer("rank")));
    if (!rows) return;
    flow.pattern = batchedMatmul(weights, rows);
    const bool isByHead = rows.shape().rank() == 3;
    const Shape all{flow.batch, flow.heads, flow.keys, rows.shape()[-2]};
    flow.factors = PatternFactors{.queries = weights,
                                  .keys = isByHead ? broadcast(permute(rows, {0, 2, 1}), all) : permute(rows, {1, 0})};
}

void referenceLinformer(ReferenceFlow& flow, PartValues values) {
    const int64_t rank = values.integer("rank");
    const auto projection = static_cast<Projection>(values.integer("projection"));
    const Blocks blocks(flow.keys, rank);
    const int64_t rows = projection == Projection::Learned ? rank : blocks.count, D = flow.width;
    const auto project = [&](const Dense& x, int64_t h, int64_t row, int64_t d, bool isKey) {
        double sum = projection == Projection::MaxPool ? kMasked : 0;
        if (projection == Projection::Learned) {
            for (int64_t s = 0; s < flow.keys; ++s) sum += learned(flow, values, isKey, h, row, s) * x.at(h, s, d);
            return sum;
        }
        const int64_t begin = row * blocks.length, end = std::min(begin + blocks.length, flow.keys);
        for (int64_t s = begin; s < end; ++s) {
            if (projection == Projection::MaxPool) sum = std::max(sum, x.at(h, s, d));
            if (projection == Projection::MeanPool) sum += x.at(h, s, d) / static_cast<double>(end - begin);
            if (projection == Projection::Convolution) {
                for (int64_t e = 0; e < D; ++e)
                    sum += learned(flow, values, isKey, h, d, (s - begin) * D + e) * x.at(h, s, e);
            }
        }
        return sum;
    };
    flow.z = Dense({flow.heads, flow.queries, D});
    for (int64_t h = 0; h < flow.heads; ++h) {
        Dense k({rows, D}), v({rows, D});
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t d = 0; d < D; ++d) {
                k.at(row, d) = project(flow.k, h, row, d, true);
                v.at(row, d) = project(flow.v, h, row, d, false);
            }
        for (int64_t t = 0; t < flow.queries; ++t) {
            std::vector<double> weights(static_cast<size_t>(rows));
            double sum = 0;
            for (int64_t row = 0; row < rows; ++row) {
                double score = 0;
                for (int64_t d = 0; d < D; ++d) score += flow.q.at(h, t, d) * k.at(row, d);
                sum += weights[static_cast<size_t>(row)] = std::exp(score / std::sqrt(static_cast<double>(D)));
            }
            for (int64_t row = 0; row < rows; ++row)
                for (int64_t d = 0; d < D; ++d)
                    flow.z.at(h, t, d) += weights[static_cast<size_t>(row)] / sum * v.at(row, d);
        }
    }
}

} // namespace

const Part kLinformerNormaliser{
    .id = "linformer",
    .slot = Slot::Normaliser,
    .title = "Linformer",
    .idea = "Keys and values are projected from S rows to a few before the softmax, because patterns are nearly of "
            "low rank. Every projected row contains a piece of every position, so nothing can be hidden from a query.",
    .formula = "z = softmax(Q (E K)^T / sqrt(D)) (F V), E and F in R^(k × S)",
    .source = {"Wang et al.", 2020, "Linformer: Self-Attention with Linear Complexity", "section 4",
               "arXiv:2006.04768"},
    .params = kLinformerParams,
    .time = "O(T k D)",
    .memory = "O(T k) and O(k S) parameters",
    .hooks = {{Stage::Normalise, buildLinformer, referenceLinformer}},
    .mix = {.masks = MaskSupport::FullOnly, .usesScores = false, .ignoresZeroRows = true, .pairs = noPairs}};

} // namespace attn
