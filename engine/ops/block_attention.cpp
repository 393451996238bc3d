#include "engine/ops/block_attention.h"

#include "engine/host/tiles.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <array>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

constexpr int64_t kQueries = 8, kKeys = 32; // of a tile

// Inputs of all three ops. The bias, the labels with their vectors, and the first rows of z follow the inputs of each
// op if its attributes "bias", "labels" and "first" are set.
enum Input : uint32_t { Q, K, V, Begins, Tiles, ColumnBegins, ColumnTiles, Bits, Forward };
enum GradientInput : uint32_t { Z = Forward, Statistics, Dz, Gradient };
enum BiasGradientInput : uint32_t { StatisticsWithProduct = Forward, BiasDz, BiasGradient };

/// The indices of the optional inputs; none if the op lacks one.
struct Others {
    std::optional<uint32_t> bias, labels, vectors, first;
    uint32_t end; ///< the number of all inputs

    Others(const Attributes& attributes, uint32_t begin) : end(begin) {
        const auto next = [&](const char* attribute) {
            return attributes.flag(attribute) ? std::optional(end++) : std::nullopt;
        };
        bias = next("bias");
        labels = next("labels");
        vectors = next("labels");
        first = next("first");
    }
};

void requireBlocks(std::span<const TensorType> inputs, const Attributes& attributes, uint32_t count,
                   std::string_view op) {
    const Others others(attributes, count);
    requireInputs(inputs, others.end, op);
    requireWhole(inputs, op);
    const Shape &q = inputs[Q].shape, &k = inputs[K].shape, &begins = inputs[Begins].shape,
                &columns = inputs[ColumnBegins].shape;
    require(q.rank() == 4 && k.rank() == 4 && q[0] == k[0] && q[3] == k[3] && inputs[V].shape == k, op,
            fmt::format("q {} must be [B,H,T,D], k {} and v {} [B,G,S,D]", q.text(), k.text(), inputs[V].shape.text()));
    require(q[1] % k[1] == 0, op, fmt::format("{} heads cannot share {} key/value heads", q[1], k[1]));
    const int64_t lists = begins[0];
    require((lists == 1 || lists == q[1]) && begins == Shape{lists, (q[2] + kQueries - 1) / kQueries + 1} &&
                columns == Shape{lists, (k[2] + kKeys - 1) / kKeys + 1} &&
                inputs[Tiles].shape == inputs[ColumnTiles].shape && inputs[Bits].shape[1] == 16,
            op,
            fmt::format("lists of tiles {} and {}, of {} and {} numbers, do not fit q {} and k {}", begins.text(),
                        columns.text(), inputs[Tiles].shape.text(), inputs[ColumnTiles].shape.text(), q.text(),
                        k.text()));
    const auto requireOther = [&](std::optional<uint32_t> input, std::string_view name, const Shape& shape) {
        require(!input || inputs[*input].shape == shape, op,
                input ? fmt::format("{} is {}, not {}", name, inputs[*input].shape.text(), shape.text()) : "");
    };
    requireOther(others.bias, "the bias by distance", {q[1], q[2] + k[2] - 1});
    requireOther(others.labels, "the table of labels", {inputs[Bits].shape[0], kQueries * kKeys});
    if (others.vectors)
        require(
            inputs[*others.vectors].shape == Shape{q[1], inputs[*others.vectors].shape[1], q[3]}, op,
            fmt::format("vectors by label are {}, not [{},L,{}]", inputs[*others.vectors].shape.text(), q[1], q[3]));
    if (others.first)
        requireOther(others.first, "the first rows of z",
                     {q[0], q[1], std::min(inputs[*others.first].shape[2], q[2]), q[3]});
}

/// One call, row by row.
struct Rows {
    const ReferenceTensor &q, &k, &v, &begins, &tiles, &bits;
    const ReferenceTensor *bias = nullptr, *labels = nullptr, *vectors = nullptr, *given = nullptr;
    int64_t H, G, T, S, D;
    double scale;

    Rows(const ReferenceCall& call, uint32_t count)
        : q(call.inputs[Q]), k(call.inputs[K]), v(call.inputs[V]), begins(call.inputs[Begins]),
          tiles(call.inputs[Tiles]), bits(call.inputs[Bits]), H(q.shape[1]), G(k.shape[1]), T(q.shape[2]),
          S(k.shape[2]), D(q.shape[3]), scale(call.attributes.number("scale")) {
        const Others others(call.attributes, count);
        const auto of = [&](std::optional<uint32_t> input) { return input ? &call.inputs[*input] : nullptr; };
        bias = of(others.bias);
        labels = of(others.labels);
        vectors = of(others.vectors);
        given = of(others.first);
    }
    int64_t queryRow(int64_t b, int64_t h, int64_t t) const { return (b * H + h) * T + t; }
    int64_t keyRow(int64_t b, int64_t h, int64_t s) const { return (b * G + h / (H / G)) * S + s; }

    /// The label of a cell. @param pattern the tile's row of bits
    int64_t labelOf(int64_t pattern, int64_t t, int64_t s) const {
        return static_cast<int64_t>(labels->row(pattern)[t % kQueries * kKeys + s % kKeys]);
    }
    /// The scores of a query. @param cellLabels receives the labels of its cells, if there are any
    std::vector<double> scores(int64_t b, int64_t h, int64_t t, std::vector<int64_t>* cellLabels = nullptr) const {
        std::vector<double> result(static_cast<size_t>(S), kMasked);
        if (cellLabels) cellLabels->assign(static_cast<size_t>(S), 0);
        const double* begin = begins.row(begins.rows() == 1 ? 0 : h) + t / kQueries;
        for (auto at = static_cast<int64_t>(begin[0]); at < static_cast<int64_t>(begin[1]); ++at) {
            const auto first = static_cast<int64_t>(tiles.data[2 * at]) * kKeys;
            const auto pattern = static_cast<int64_t>(tiles.data[2 * at + 1]);
            const double* halves = bits.row(pattern);
            for (int64_t s = first; s < std::min(first + kKeys, S); ++s) {
                const auto half = static_cast<uint32_t>(halves[(s - first) / 16 * 8 + t % kQueries]);
                if ((half >> (s - first) % 16 & 1) == 0) continue;
                double& score = result[static_cast<size_t>(s)] = 0;
                const int64_t label = vectors ? labelOf(pattern, t, s) : 0;
                if (cellLabels) (*cellLabels)[static_cast<size_t>(s)] = label;
                for (int64_t d = 0; d < D; ++d)
                    score +=
                        q.row(queryRow(b, h, t))[d] *
                        (k.row(keyRow(b, h, s))[d] + (vectors ? vectors->row(h * vectors->shape[1] + label)[d] : 0));
                score *= scale;
                if (bias) score += bias->row(h)[s - t + T - 1];
            }
        }
        return result;
    }
    template <class Row> void forEach(Row&& row) const {
        for (int64_t b = 0; b < q.shape[0]; ++b)
            for (int64_t h = 0; h < H; ++h)
                for (int64_t t = 0; t < T; ++t) row(b, h, t);
    }
};

/// The bindings that every kernel has after q, k and v. Absent inputs are bound to any tensor.
/// @param own the number of inputs that every node of the op has  @param lists the first of the lists that the kernel
/// visits
/// @param more the other bindings of the kernel
std::vector<Binding> bindingsOf(const OpTypes& types, uint32_t own, uint32_t lists, std::vector<Binding> more) {
    const Others others(types.attributes, own);
    std::vector<Binding> all{load4(Q),
                             load4(K),
                             load4(V),
                             readInput(lists),
                             readInput(lists + 1),
                             load4(Bits),
                             readInput(others.bias.value_or(Begins)),
                             readInput(others.labels.value_or(Begins)),
                             load4(others.vectors.value_or(Q))};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// Push constants and grid of every kernel. @param own, lists, more as for bindingsOf
Dispatch dispatchOf(const OpTypes& types, const KernelTraits& traits, uint32_t own, uint32_t lists,
                    std::string_view shader, std::vector<Binding> more) {
    const Shape &q = types.inputs[Q].shape, &k = types.inputs[K].shape;
    const Others others(types.attributes, own);
    const auto of = [&](std::optional<uint32_t> input, const auto& number) {
        return input ? u32(number(types.inputs[*input].shape)) : 0;
    };
    const auto stride = [](const Shape& shape) { return shape.rowStride(); };
    const bool isByKeys = lists == ColumnBegins;
    const uint32_t blocks = q[3] > 32 ? 2 : 1; // of 32 features
    const Lanes8 lanes(traits);
    const Shape& begins = types.inputs[lists].shape;
    return {.shader = shader,
            .bindings = bindingsOf(types, own, lists, std::move(more)),
            .push = {u32(q[2]), u32(k[2]), u32(q[1]), u32(k[1]), u32(q.rowStride() / 4),
                     pushFloat(types.attributes.number("scale")), u32(begins[0]), u32(begins.rowStride()),
                     of(others.bias, stride), of(others.vectors, [](const Shape& shape) { return shape[1]; }),
                     of(others.first, [](const Shape& shape) { return shape[2]; })},
            .specialisation = {8, lanes.sets, blocks, lanes.isExact, others.bias ? 1u : 0u, others.labels ? 1u : 0u},
            .x = groupsOf(isByKeys ? k[2] : q[2], int64_t{8} * lanes.sets),
            .y = groupsOf(q[0] * (isByKeys ? k[1] : q[1]), 1),
            .z = groupsOf(q[3], int64_t{32} * blocks)};
}
/// The problem of a node of any of these ops, for the host's kernels.
class HostTiles {
public:
    HostTiles(const OpTypes& types, uint32_t own)
        : q_(types.inputs[Q].shape), k_(types.inputs[K].shape), begins_(types.inputs[Begins].shape),
          scale_(static_cast<float>(types.attributes.number("scale"))), others_(types.attributes, own) {
        if (others_.bias) biasStride_ = types.inputs[*others_.bias].shape.rowStride();
        if (others_.vectors) labelCount_ = types.inputs[*others_.vectors].shape[1];
        if (others_.first) first_ = types.inputs[*others_.first].shape[2];
    }
    host::TileAttention of(const HostRun& run) const {
        const auto input = [&](std::optional<uint32_t> index) { return index ? run.inputs[*index] : nullptr; };
        return {.B = q_[0],
                .H = q_[1],
                .G = k_[1],
                .T = q_[2],
                .S = k_[2],
                .D = q_[3],
                .stride = q_.rowStride(),
                .scale = scale_,
                .q = run.inputs[Q],
                .k = run.inputs[K],
                .v = run.inputs[V],
                .begins = run.inputs[Begins],
                .tiles = run.inputs[Tiles],
                .bits = run.inputs[Bits],
                .beginsStride = begins_[0] == 1 ? 0 : begins_.rowStride(),
                .bias = input(others_.bias),
                .biasStride = biasStride_,
                .labels = input(others_.labels),
                .labelVectors = input(others_.vectors),
                .labelCount = labelCount_,
                .firstRows = input(others_.first),
                .firsts = first_};
    }

private:
    Shape q_, k_, begins_;
    float scale_;
    Others others_;
    int64_t biasStride_ = 0, labelCount_ = 0, first_ = 0;
};

// block_attention: q, k, v, lists, others -> z, statistics [B,H,T,4] as fused_attention's
// ------------------------------

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireBlocks(inputs, attributes, Forward, "block_attention");
    const Shape& q = inputs[Q].shape;
    return {{.shape = q}, {.shape = {q[0], q[1], q[2], 4}}};
}

void reference(const ReferenceCall& call) {
    const Rows rows(call, Forward);
    rows.forEach([&](int64_t b, int64_t h, int64_t t) {
        const auto scores = rows.scores(b, h, t);
        const RowStatistics row = statisticsOf(scores);
        double* statistics = call.outputs[1].row(rows.queryRow(b, h, t));
        statistics[0] = row.inverseSum == 0 ? -1e20 : row.maximum * std::numbers::log2e;
        statistics[1] = row.inverseSum;
        for (int64_t s = 0; s < rows.S; ++s) {
            const double weight = probabilityOf(scores[static_cast<size_t>(s)], row);
            for (int64_t d = 0; d < rows.D; ++d)
                call.outputs[0].row(rows.queryRow(b, h, t))[d] += weight * rows.v.row(rows.keyRow(b, h, s))[d];
        }
        if (const int64_t N = rows.given ? rows.given->shape[2] : 0; t < N)
            std::copy_n(rows.given->row((b * rows.H + h) * N + t), rows.D, call.outputs[0].row(rows.queryRow(b, h, t)));
    });
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const Others others(types.attributes, Forward);
    return {dispatchOf(types, traits, Forward, Begins, "attention/block_forward",
                       {load4(others.first.value_or(Q)), writeOutput(0), writeOutput(1)})};
}

HostKernel hostKernel(const OpTypes& types) {
    return [problem = HostTiles(types, Forward)](const HostRun& run) {
        host::tileAttention(problem.of(run), run.outputs[0], run.outputs[1], run.pool);
    };
}

/// The pattern is computed a second time and never stored.
std::vector<Tensor> gradient(const GradientCall& call) {
    const Others others(call.attributes, Forward);
    Attributes attributes = call.attributes; // queries of rows that were computed elsewhere see nothing
    attributes.set("first", 0);
    const auto inputsOf = [&](std::initializer_list<Tensor> own) {
        std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.begin() + Forward);
        inputs.insert(inputs.end(), own);
        for (const std::optional<uint32_t> other : {others.bias, others.labels, others.vectors})
            if (other) inputs.push_back(call.inputs[*other]);
        return inputs;
    };
    const Tensor dz = call.outputGradients[0];
    const Tensor dq =
        call.graph.add(kBlockAttentionGradient, inputsOf({call.outputs[0], call.outputs[1], dz}), attributes);
    std::vector<Tensor> result(call.inputs.size());
    for (uint32_t output = 0; output < 3; ++output) result[output] = {dq.graph, dq.node, output};
    if (others.bias)
        result[*others.bias] =
            call.graph.add(kBlockAttentionBiasGradient, inputsOf({{dq.graph, dq.node, 3}, dz}), attributes);
    if (others.vectors) { // q . vector is a separate product; output 4 has its gradient, one column per label
        const Tensor d{dq.graph, dq.node, 4}, vectors = call.inputs[*others.vectors];
        result[Q] = add(result[Q], batchedMatmul(d, vectors));
        result[*others.vectors] = reshape(
            reduce(batchedMatmul(d, call.inputs[Q], {.transposeA = true}), Reduction::Sum, {0}), vectors.shape());
    }
    if (others.first) result[*others.first] = slice(dz, 2, 0, call.inputs[*others.first].shape()[2]);
    return result;
}

/// The number of operations for the tiles in the lists.
/// @param products dot products (2 D operations each) per cell  @param others other operations per cell
double operationsOf(const OpTypes& types, double products, double others) {
    const Shape& q = types.inputs[Q].shape;
    const double lists = static_cast<double>(q[0] * q[1]) / static_cast<double>(types.inputs[Begins].shape[0]);
    const double tiles = static_cast<double>(types.inputs[Tiles].shape[0]) / 2 * lists;
    return tiles * static_cast<double>(kQueries * kKeys) * (products * 2 * static_cast<double>(q[3]) + others);
}
/// The number of operations for the products of every query with the vector of every label.
double labelOperations(const OpTypes& types, uint32_t own) {
    const Others others(types.attributes, own);
    const Shape& q = types.inputs[Q].shape;
    return others.vectors ? 2 * static_cast<double>(q.elements() * types.inputs[*others.vectors].shape[1]) : 0;
}
double operations(const OpTypes& types) {
    const Attributes& has = types.attributes;
    return operationsOf(types, 2,
                        kScaleOperations + kSoftmaxOperations + (has.flag("bias") ? 1 : 0) +
                            (has.flag("labels") ? 1 : 0)) +
           labelOperations(types, Forward);
}
double gradientOperations(const OpTypes& types) { // scores and products twice
    return operationsOf(types, 7, 0) + labelOperations(types, Gradient);
}
double biasGradientOperations(const OpTypes& types) {
    return operationsOf(types, 2, 0) + labelOperations(types, BiasGradient);
}

// block_attention_gradient: q, k, v, lists, z, statistics, dz, others -> dq, dk, dv, statistics with z . dz in column
// 2, and of each product of a query and the vector of a label
// ----------------------------------------------------------------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireBlocks(inputs, attributes, Gradient, "block_attention_gradient");
    std::vector<TensorType> outputs{inputs[Q], inputs[K], inputs[V], inputs[Statistics]};
    if (const Others others(attributes, Gradient); others.vectors) {
        const Shape& q = inputs[Q].shape;
        outputs.push_back({.shape = {q[0], q[1], q[2], inputs[*others.vectors].shape[1]}});
    }
    return outputs;
}

void referenceGradient(const ReferenceCall& call) {
    const Rows rows(call, Gradient);
    const ReferenceTensor &dz = call.inputs[Dz], &dq = call.outputs[0], &dk = call.outputs[1], &dv = call.outputs[2];
    rows.forEach([&](int64_t b, int64_t h, int64_t t) {
        std::vector<int64_t> labels;
        const auto scores = rows.scores(b, h, t, &labels);
        const RowStatistics row = statisticsOf(scores);
        const int64_t query = rows.queryRow(b, h, t);
        std::vector<double> products(scores.size());
        double delta = 0;
        for (int64_t s = 0; s < rows.S; ++s) {
            const int64_t key = rows.keyRow(b, h, s);
            const double p = probabilityOf(scores[static_cast<size_t>(s)], row);
            double& product = products[static_cast<size_t>(s)];
            for (int64_t d = 0; d < rows.D; ++d) product += dz.row(query)[d] * rows.v.row(key)[d];
            for (int64_t d = 0; d < rows.D; ++d) dv.row(key)[d] += p * dz.row(query)[d];
            delta += p * product;
        }
        for (int64_t s = 0; s < rows.S; ++s) {
            const int64_t key = rows.keyRow(b, h, s);
            const double ds = probabilityOf(scores[static_cast<size_t>(s)], row) *
                              (products[static_cast<size_t>(s)] - delta) * rows.scale;
            if (rows.vectors) call.outputs[4].row(query)[labels[static_cast<size_t>(s)]] += ds;
            for (int64_t d = 0; d < rows.D; ++d) dq.row(query)[d] += ds * rows.k.row(key)[d];
            for (int64_t d = 0; d < rows.D; ++d) dk.row(key)[d] += ds * rows.q.row(query)[d];
        }
        double* statistics = call.outputs[3].row(query);
        std::copy_n(call.inputs[Statistics].row(query), 2, statistics);
        statistics[2] = delta;
    });
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    std::vector<Dispatch> result{
        dispatchOf(types, traits, Gradient, Begins, "attention/block_gradient_queries",
                   {load4(Z), load4(Statistics), load4(Dz), writeOutput(0), writeOutput(3),
                    writeOutput(types.outputs.size() > 4 ? 4 : 3)}),
        dispatchOf(types, traits, Gradient, ColumnBegins, "attention/block_gradient_keys",
                   {Binding{Access::Load4, true, 3}, load4(Dz), writeOutput(1), writeOutput(2)})};
    result[1].barrierBefore = true; // the second dispatch reads the products of the first
    return result;
}

HostKernel hostGradient(const OpTypes& types) {
    return [problem = HostTiles(types, Gradient), hasLabels = types.outputs.size() > 4,
            labelStride = types.outputs.back().shape.rowStride()](const HostRun& run) {
        host::tileAttentionGradient(problem.of(run),
                                    {.z = run.inputs[Z],
                                     .statistics = run.inputs[Statistics],
                                     .dz = run.inputs[Dz],
                                     .dq = run.outputs[0],
                                     .dk = run.outputs[1],
                                     .dv = run.outputs[2],
                                     .products = run.outputs[3],
                                     .labelProducts = hasLabels ? run.outputs[4] : nullptr,
                                     .labelStride = labelStride},
                                    run.pool);
    };
}

// block_attention_bias_gradient: q, k, v, lists, statistics with z . dz, dz, bias, others -> d bias, sums by tiles
// ---------

/// The number of distances between a tile's keys and queries, in units of eight.
int64_t tileDistances(const Shape& q, const Shape& k) {
    return (q[2] + kQueries - 1) / kQueries + kKeys / kQueries * ((k[2] + kKeys - 1) / kKeys - 1);
}

std::vector<TensorType> inferBiasGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireBlocks(inputs, attributes, BiasGradient, "block_attention_bias_gradient");
    const Shape &q = inputs[Q].shape, &k = inputs[K].shape;
    return {inputs[BiasGradient], {.shape = {q[1], tileDistances(q, k), kQueries, kKeys}}};
}

void referenceBiasGradient(const ReferenceCall& call) {
    const Rows rows(call, BiasGradient);
    const ReferenceTensor& dz = call.inputs[BiasDz];
    rows.forEach([&](int64_t b, int64_t h, int64_t t) {
        const auto scores = rows.scores(b, h, t);
        const RowStatistics row = statisticsOf(scores);
        const int64_t query = rows.queryRow(b, h, t);
        const double delta = call.inputs[StatisticsWithProduct].row(query)[2];
        for (int64_t s = 0; s < rows.S; ++s) {
            double product = 0;
            for (int64_t d = 0; d < rows.D; ++d) product += dz.row(query)[d] * rows.v.row(rows.keyRow(b, h, s))[d];
            call.outputs[0].row(h)[s - t + rows.T - 1] +=
                probabilityOf(scores[static_cast<size_t>(s)], row) * (product - delta);
        }
    });
}

std::vector<Dispatch> dispatchBiasGradient(const OpTypes& types, const KernelTraits& traits) {
    const Shape &q = types.inputs[Q].shape, &k = types.inputs[K].shape, &bias = types.outputs[0].shape;
    const int64_t distances = tileDistances(q, k);
    Dispatch tiles = dispatchOf(types, traits, BiasGradient, Begins, "attention/block_gradient_bias",
                                {load4(StatisticsWithProduct), load4(BiasDz), writeOutput(1)});
    tiles.specialisation.push_back(u32(q[0]));
    tiles.x = groupsOf(distances, Lanes8(traits).sets);
    tiles.y = GridAxis::fixed(u32(q[1]));
    tiles.z = GridAxis::fixed(1);
    return {std::move(tiles),
            {.shader = "attention/block_gradient_bias_sum",
             .bindings = {Binding{Access::Read, true, 1}, writeOutput(0)},
             .push = {u32(q[2]), u32(bias.columns()), u32(bias.rowStride()), u32(distances)},
             .x = groupsOf(bias.rowStride(), 64),
             .y = GridAxis::fixed(u32(q[1])),
             .barrierBefore = true}};
}

HostKernel hostBiasGradient(const OpTypes& types) {
    return [problem = HostTiles(types, BiasGradient)](const HostRun& run) {
        host::tileBiasGradient(problem.of(run), run.inputs[StatisticsWithProduct], run.inputs[BiasDz], run.outputs[0],
                               run.pool);
    };
}

} // namespace

const Op kBlockAttention{.name = "block_attention",
                         .infer = infer,
                         .reference = reference,
                         .dispatch = dispatch,
                         .host = hostKernel,
                         .gradient = gradient,
                         .operations = operations};
const Op kBlockAttentionGradient{.name = "block_attention_gradient",
                                 .infer = inferGradient,
                                 .reference = referenceGradient,
                                 .dispatch = dispatchGradient,
                                 .host = hostGradient,
                                 .operations = gradientOperations};
const Op kBlockAttentionBiasGradient{.name = "block_attention_bias_gradient",
                                     .infer = inferBiasGradient,
                                     .reference = referenceBiasGradient,
                                     .dispatch = dispatchBiasGradient,
                                     .host = hostBiasGradient,
                                     .operations = biasGradientOperations};

Tensor blockAttention(const BlockAttentionInputs& in, double scale) {
    std::vector<Tensor> inputs{
        in.q, in.k, in.v, in.lists.begins, in.lists.tiles, in.lists.columnBegins, in.lists.columnTiles, in.lists.bits};
    for (const Tensor other : {in.bias, in.lists.labels, in.labelVectors, in.first})
        if (other) inputs.push_back(other);
    return in.q.graph->add(kBlockAttention, inputs,
                           {{"scale", scale},
                            {"bias", in.bias ? 1 : 0},
                            {"labels", in.labelVectors ? 1 : 0},
                            {"first", in.first ? 1 : 0}});
}

} // namespace attn
