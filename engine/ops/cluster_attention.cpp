#include "engine/ops/cluster_attention.h"

#include "engine/host/clusters.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

// Inputs of both ops.
enum Input : uint32_t { Q, K, V, QueryIds, KeyIds, Sphere, Forward };
enum GradientInput : uint32_t { Statistics = Forward, Counts, Dz, Gradient };

void requireClusters(std::span<const TensorType> inputs, uint32_t count, std::string_view op) {
    requireInputs(inputs, count, op);
    requireWhole(inputs, op);
    const Shape &q = inputs[Q].shape, &ids = inputs[QueryIds].shape;
    require(q.rank() == 4 && inputs[K].shape == q && inputs[V].shape == q, op,
            fmt::format("q {}, k {} and v {} must all be [B,H,T,D]", q.text(), inputs[K].shape.text(),
                        inputs[V].shape.text()));
    require(inputs[QueryIds].dtype == DType::I32 && inputs[KeyIds].dtype == DType::I32 && ids.rank() == 4 &&
                ids[0] == q[0] && ids[1] == q[1] && ids[3] <= q[2] && inputs[KeyIds].shape == ids,
            op,
            fmt::format("the members {} and {} must be I32 [B,H,c,w] of q {}", ids.text(), inputs[KeyIds].shape.text(),
                        q.text()));
    require(inputs[Sphere].shape == Shape{q[0], q[1], 4, q[2]}, op,
            fmt::format("the sphere {} must be [B,H,4,T] of q {}", inputs[Sphere].shape.text(), q.text()));
}

/// One call, cluster by cluster.
struct Clusters {
    const ReferenceTensor &q, &k, &v, &queryIds, &keyIds, &sphere;
    int64_t B, H, T, D, count, members;
    double scale;
    bool isCausal;

    explicit Clusters(const ReferenceCall& call)
        : q(call.inputs[Q]), k(call.inputs[K]), v(call.inputs[V]), queryIds(call.inputs[QueryIds]),
          keyIds(call.inputs[KeyIds]), sphere(call.inputs[Sphere]), B(q.shape[0]), H(q.shape[1]), T(q.shape[2]),
          D(q.shape[3]), count(queryIds.shape[2]), members(queryIds.shape[3]), scale(call.attributes.number("scale")),
          isCausal(call.attributes.flag("causal")) {}

    /// A row on the sphere. @param which 0 for q, 1 for k
    std::vector<double> unit(int64_t m, int64_t token, int64_t which) const {
        const double* row = (which == 0 ? q : k).row(m * T + token);
        std::vector<double> result(row, row + D);
        const double mean = sphere.row(m * 4 + 2 * which)[token], inverse = sphere.row(m * 4 + 2 * which + 1)[token];
        for (double& value : result) value = (value - mean) * inverse;
        return result;
    }
    /// Adds the gradient of a row to `gradient`. @param g the gradient by unit(), the row on the sphere
    void addThroughUnit(int64_t m, int64_t token, int64_t which, std::vector<double> g, double* gradient) const {
        const auto u = unit(m, token, which);
        double mean = 0, along = 0;
        for (size_t d = 0; d < g.size(); ++d) {
            mean += g[d] / static_cast<double>(D);
            along += g[d] * u[d];
        }
        for (size_t d = 0; d < g.size(); ++d)
            gradient[d] += (g[d] - mean - along * u[d]) * sphere.row(m * 4 + 2 * which + 1)[token];
    }
    double countOf(int64_t m, int64_t token) const {
        double result = 0;
        for (int64_t c = 0; c < count; ++c) {
            const double* ids = queryIds.row(m * count + c);
            result += static_cast<double>(std::count(ids, ids + members, static_cast<double>(token)));
        }
        return result;
    }
    /// Calls row(m, cluster, place, query) for each member of each cluster, and alone(m, token) for tokens in no
    /// cluster.
    template <class Row, class Alone> void forEach(Row&& row, Alone&& alone) const {
        for (int64_t m = 0; m < B * H; ++m) {
            for (int64_t c = 0; c < count; ++c)
                for (int64_t i = 0; i < members; ++i)
                    row(m, m * count + c, i, static_cast<int64_t>(queryIds.row(m * count + c)[i]));
            for (int64_t t = 0; t < T; ++t)
                if (countOf(m, t) == 0) alone(m, t);
        }
    }
    std::vector<double> scores(int64_t m, int64_t cluster, int64_t query) const {
        const auto u = unit(m, query, 0);
        std::vector<double> result(static_cast<size_t>(members), kMasked);
        for (int64_t j = 0; j < members; ++j) {
            const auto key = static_cast<int64_t>(keyIds.row(cluster)[j]);
            if (isCausal && key > query) continue;
            const auto other = unit(m, key, 1);
            double& score = result[static_cast<size_t>(j)] = 0;
            for (size_t d = 0; d < u.size(); ++d) score += scale * u[d] * other[d];
        }
        return result;
    }
};

/// Collects launches. Each cluster waits for the previous one, which may have written to the same rows.
struct Kernels {
    const OpTypes& types;
    const Shape &q, &ids;
    uint32_t blocks;
    Lanes8 lanes;
    std::vector<Dispatch> result{};

    Kernels(const OpTypes& of, const KernelTraits& traits)
        : types(of), q(of.inputs[Q].shape), ids(of.inputs[QueryIds].shape), blocks(q[3] > 32 ? 2 : 1), lanes(traits) {}

    uint32_t tokens() const { return u32(q[2]); }
    uint32_t vectors() const { return u32(q.rowStride() / 4); }
    int64_t heads() const { return q[0] * q[1]; }

    void addCluster(int64_t cluster, std::string_view shader, std::vector<Binding> bindings) {
        result.push_back({.shader = shader,
                          .bindings = std::move(bindings),
                          .push = {tokens(), vectors(), pushFloat(types.attributes.number("scale")), u32(q[3]),
                                   u32(ids[3]), u32(ids[2]), types.attributes.flag("causal") ? 1u : 0u, u32(cluster)},
                          .specialisation = {8, lanes.sets, blocks, lanes.isExact},
                          .x = groupsOf(ids[3], int64_t{8} * lanes.sets),
                          .y = groupsOf(heads(), 1),
                          .z = groupsOf(q[3], int64_t{32} * blocks),
                          .barrierBefore = true});
    }
    void addBegin(Binding x, Binding counts, uint32_t output, bool keeps, bool barrierBefore) {
        result.push_back({.shader = "attention/cluster_begin",
                          .bindings = {x, counts, writeOutput(output)},
                          .push = {tokens(), vectors(), keeps ? 1u : 0u},
                          .x = groupsOf(q[2] * vectors(), 64),
                          .y = groupsOf(heads(), 1),
                          .barrierBefore = barrierBefore});
    }
};

/// The sizes and options of a node, without its tensors.
host::ClusterAttention problemOf(const OpTypes& types) {
    const Shape &q = types.inputs[Q].shape, &ids = types.inputs[QueryIds].shape;
    return {.M = q[0] * q[1],
            .T = q[2],
            .D = q[3],
            .count = ids[2],
            .members = ids[3],
            .stride = q.rowStride(),
            .idStride = ids.rowStride(),
            .tokenStride = types.inputs[Sphere].shape.rowStride(),
            .scale = static_cast<float>(types.attributes.number("scale")),
            .isCausal = types.attributes.flag("causal")};
}
host::ClusterAttention withTensors(host::ClusterAttention problem, const HostRun& run) {
    problem.q = run.inputs[Q];
    problem.k = run.inputs[K];
    problem.v = run.inputs[V];
    problem.sphere = run.inputs[Sphere];
    problem.queryIds = run.integers(QueryIds);
    problem.keyIds = run.integers(KeyIds);
    return problem;
}

/// The number of operations for the pairs in all clusters.
double operationsOf(const OpTypes& types, double products, double others) {
    const Shape &q = types.inputs[Q].shape, &ids = types.inputs[QueryIds].shape;
    const double keys = static_cast<double>(ids[3]) * (types.attributes.flag("causal") ? 0.5 : 1.0);
    return static_cast<double>(ids.elements()) * keys * (products * 2 * static_cast<double>(q[3]) + others);
}
double operations(const OpTypes& types) { // 3: the means and lengths
    return operationsOf(types, 2, kScaleOperations + 3 + kSoftmaxOperations);
}
double gradientOperations(const OpTypes& types) { return operationsOf(types, 8, 0); } // scores and products twice

// cluster_attention: q, k, v, query ids, key ids, sphere [B,H,4,T] -> z, statistics [B,H,c,2,w]: the maximum in powers
// of two and 1 / the sum; counts [B,H,T]: how many clusters hold a query
// -----------------

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireClusters(inputs, Forward, "cluster_attention");
    const Shape &q = inputs[Q].shape, &ids = inputs[QueryIds].shape;
    return {{.shape = q}, {.shape = {ids[0], ids[1], ids[2], 2, ids[3]}}, {.shape = {q[0], q[1], q[2]}}};
}

void reference(const ReferenceCall& call) {
    const Clusters all(call);
    const ReferenceTensor &z = call.outputs[0], &statistics = call.outputs[1], &counts = call.outputs[2];
    for (int64_t m = 0; m < all.B * all.H; ++m)
        for (int64_t t = 0; t < all.T; ++t) counts.row(m)[t] = all.countOf(m, t);
    all.forEach(
        [&](int64_t m, int64_t cluster, int64_t i, int64_t query) {
            const auto scores = all.scores(m, cluster, query);
            const RowStatistics row = statisticsOf(scores);
            statistics.row(2 * cluster)[i] = row.maximum * std::numbers::log2e;
            statistics.row(2 * cluster + 1)[i] = row.inverseSum;
            for (int64_t j = 0; j < all.members; ++j) {
                const double weight = probabilityOf(scores[static_cast<size_t>(j)], row) / counts.row(m)[query];
                const double* value = all.v.row(m * all.T + static_cast<int64_t>(all.keyIds.row(cluster)[j]));
                for (int64_t d = 0; d < all.D; ++d) z.row(m * all.T + query)[d] += weight * value[d];
            }
        },
        [&](int64_t m, int64_t t) { std::copy_n(all.v.row(m * all.T + t), all.D, z.row(m * all.T + t)); });
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    Kernels kernels(types, traits);
    kernels.result.push_back({.shader = "attention/cluster_count",
                              .bindings = {readInput(QueryIds), writeOutput(2)},
                              .push = {kernels.tokens(), u32(kernels.ids[3]), u32(kernels.ids[2])},
                              .x = groupsOf(types.outputs[2].shape.rowStride(), 64),
                              .y = groupsOf(kernels.heads(), 1)});
    const Binding counts{Access::Read, true, 2};
    kernels.addBegin(load4(V), counts, 0, true, true);
    for (int64_t cluster = 0; cluster < kernels.ids[2]; ++cluster)
        kernels.addCluster(cluster, "attention/cluster_forward",
                           {load4(Q), load4(K), load4(V), readInput(QueryIds), readInput(KeyIds), readInput(Sphere),
                            counts, writeOutput(0), writeOutput(1)});
    return kernels.result;
}

HostKernel hostKernel(const OpTypes& types) {
    return [problem = problemOf(types)](const HostRun& run) {
        host::clusterAttention(withTensors(problem, run), run.outputs[0], run.outputs[1], run.outputs[2], run.pool);
    };
}

/// The patterns are computed a second time and never stored.
std::vector<Tensor> gradient(const GradientCall& call) {
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    inputs.insert(inputs.end(), {call.outputs[1], call.outputs[2], call.outputGradients[0]});
    const Tensor dq = call.graph.add(kClusterAttentionGradient, inputs, call.attributes);
    return {dq, {dq.graph, dq.node, 1}, {dq.graph, dq.node, 2}, {}, {}, {}};
}

// cluster_attention_gradient: the inputs, statistics, counts, dz -> dq, dk, dv, sum of p dp [B,H,c,w] (scratch)
// --------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes&) {
    requireClusters(inputs, Gradient, "cluster_attention_gradient");
    return {inputs[Q], inputs[K], inputs[V], {.shape = inputs[QueryIds].shape}};
}

void referenceGradient(const ReferenceCall& call) {
    const Clusters all(call);
    const ReferenceTensor &dz = call.inputs[Dz], &dv = call.outputs[2];
    all.forEach(
        [&](int64_t m, int64_t cluster, int64_t i, int64_t query) {
            const auto scores = all.scores(m, cluster, query);
            const RowStatistics row = statisticsOf(scores);
            const auto keyAt = [&](int64_t j) { return static_cast<int64_t>(all.keyIds.row(cluster)[j]); };
            const double count = all.countOf(m, query), *dzRow = dz.row(m * all.T + query);
            std::vector<double> p(scores.size()), dp(scores.size(), 0.0), du(static_cast<size_t>(all.D), 0.0);
            double& delta = call.outputs[3].row(cluster)[i];
            for (size_t j = 0; j < p.size(); ++j) {
                p[j] = probabilityOf(scores[j], row);
                const int64_t key = m * all.T + keyAt(static_cast<int64_t>(j));
                for (int64_t d = 0; d < all.D; ++d) {
                    dp[j] += dzRow[d] / count * all.v.row(key)[d];
                    dv.row(key)[d] += p[j] * dzRow[d] / count;
                }
                delta += p[j] * dp[j];
            }
            const auto u = all.unit(m, query, 0);
            for (size_t j = 0; j < p.size(); ++j) {
                const int64_t key = keyAt(static_cast<int64_t>(j));
                const double ds = p[j] * (dp[j] - delta) * all.scale;
                const auto other = all.unit(m, key, 1);
                std::vector<double> ofKey(u.size());
                for (size_t d = 0; d < u.size(); ++d) {
                    du[d] += ds * other[d];
                    ofKey[d] = ds * u[d];
                }
                all.addThroughUnit(m, key, 1, std::move(ofKey), call.outputs[1].row(m * all.T + key));
            }
            all.addThroughUnit(m, query, 0, std::move(du), call.outputs[0].row(m * all.T + query));
        },
        [&](int64_t m, int64_t t) {
            for (int64_t d = 0; d < all.D; ++d) dv.row(m * all.T + t)[d] += dz.row(m * all.T + t)[d];
        });
}

HostKernel hostGradient(const OpTypes& types) {
    return [problem = problemOf(types)](const HostRun& run) {
        host::clusterAttentionGradient(withTensors(problem, run),
                                       {.statistics = run.inputs[Statistics],
                                        .counts = run.inputs[Counts],
                                        .dz = run.inputs[Dz],
                                        .dq = run.outputs[0],
                                        .dk = run.outputs[1],
                                        .dv = run.outputs[2],
                                        .products = run.outputs[3]},
                                       run.pool);
    };
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    Kernels kernels(types, traits);
    for (const uint32_t output : {0u, 1u, 2u})
        kernels.addBegin(load4(Dz), readInput(Counts), output, output == 2, false);
    const std::vector<Binding> inputs{load4(Q),          load4(K),          load4(V),          readInput(QueryIds),
                                      readInput(KeyIds), readInput(Sphere), readInput(Counts), readInput(Statistics),
                                      load4(Dz)};
    const auto with = [&](std::initializer_list<Binding> others) {
        std::vector<Binding> all = inputs;
        all.insert(all.end(), others);
        return all;
    };
    for (int64_t cluster = 0; cluster < kernels.ids[2]; ++cluster) {
        kernels.addCluster(cluster, "attention/cluster_gradient_queries", with({writeOutput(0), writeOutput(3)}));
        kernels.addCluster(cluster, "attention/cluster_gradient_keys",
                           with({{Access::Read, true, 3}, writeOutput(1), writeOutput(2)}));
    }
    for (const uint32_t which : {Q, K})
        kernels.result.push_back(
            {.shader = "attention/cluster_rows",
             .bindings = {load4(which), readInput(Sphere), writeOutput(which == Q ? 0 : 1)},
             .push = {kernels.tokens(), kernels.vectors(), u32(kernels.q[3]), which == Q ? 0u : 1u},
             .x = groupsOf(kernels.q[2], 64),
             .y = groupsOf(kernels.heads(), 1),
             .barrierBefore = which == Q});
    return kernels.result;
}

} // namespace

const Op kClusterAttention{.name = "cluster_attention",
                           .infer = infer,
                           .reference = reference,
                           .dispatch = dispatch,
                           .host = hostKernel,
                           .gradient = gradient,
                           .operations = operations};
const Op kClusterAttentionGradient{.name = "cluster_attention_gradient",
                                   .infer = inferGradient,
                                   .reference = referenceGradient,
                                   .dispatch = dispatchGradient,
                                   .host = hostGradient,
                                   .operations = gradientOperations};

Tensor sphereOf(Tensor q, Tensor k) {
    std::vector<Tensor> rows;
    for (const Tensor x : {stopGradient(q), stopGradient(k)}) {
        const Tensor mean = reduce(x, Reduction::Mean, {-1}); // [B,H,T,1]
        const Tensor squares = reduce(unary(x, Unary::Square), Reduction::Sum, {-1});
        const Tensor ofMean = affine(unary(mean, Unary::Square), static_cast<double>(x.shape()[-1]), 0);
        const Tensor square = clamp(binary(squares, ofMean, Binary::Subtract), 1e-12, 1e30);
        const Shape row{x.shape()[0], x.shape()[1], 1, x.shape()[2]};
        rows.insert(rows.end(), {reshape(mean, row), reshape(unary(square, Unary::ReciprocalSquareRoot), row)});
    }
    return concatenate(rows, 2);
}

Tensor clusterAttention(const ClusterAttentionInputs& in, double scale, bool isCausal) {
    return in.q.graph->add(kClusterAttention, {in.q, in.k, in.v, in.queryIds, in.keyIds, in.sphere},
                           {{"scale", scale}, {"causal", isCausal ? 1 : 0}});
}

} // namespace attn
