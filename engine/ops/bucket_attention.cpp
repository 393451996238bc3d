#include "engine/ops/bucket_attention.h"

#include "engine/host/buckets.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <cmath>
#include <numbers>

namespace attn {
namespace {

// Inputs of both ops.
enum Input : uint32_t { Q, K, V, Order, Code, Forward };
enum GradientInput : uint32_t { Statistics = Forward, Products, Dz, Gradient };

void requireBuckets(std::span<const TensorType> inputs, const Attributes& attributes, uint32_t count,
                    std::string_view op) {
    requireInputs(inputs, count, op);
    requireWhole(inputs, op);
    const Shape &q = inputs[Q].shape, &order = inputs[Order].shape;
    require(q.rank() == 4 && inputs[K].shape == q && inputs[V].shape == q, op,
            fmt::format("q {}, k {} and v {} must all be [B,H,T,D]", q.text(), inputs[K].shape.text(),
                        inputs[V].shape.text()));
    require(inputs[Order].dtype == DType::I32 && inputs[Code].dtype == DType::I32 && order.rank() == 4 &&
                order[0] == q[0] && order[1] == q[1] && order[3] == q[2] && inputs[Code].shape == order,
            op,
            fmt::format("order {} and code {} must be I32 [B,H,R,T] of q {}", order.text(), inputs[Code].shape.text(),
                        q.text()));
    require(attributes.integer("chunk") > 0 && attributes.integer("chunk") % 8 == 0, op,
            fmt::format("a chunk has a multiple of 8 places, not {}", attributes.integer("chunk")));
}

/// One call, row by row.
struct Rows {
    const ReferenceTensor &q, &k, &v, &code;
    int64_t T, D, R;
    double scale;
    bool isCausal;

    explicit Rows(const ReferenceCall& call)
        : q(call.inputs[Q]), k(call.inputs[K]), v(call.inputs[V]), code(call.inputs[Code]), T(q.shape[2]),
          D(q.shape[3]), R(code.shape[2]), scale(call.attributes.number("scale")),
          isCausal(call.attributes.flag("causal")) {}

    bool meets(int64_t m, int64_t t, int64_t s) const {
        for (int64_t r = 0; r < R; ++r) {
            const double* codes = code.row(m * R + r);
            if (codes[t] - codes[s] == 0 || codes[t] - codes[s] == 1) return true;
        }
        return false;
    }
    std::vector<double> scores(int64_t m, int64_t t) const {
        std::vector<double> result(static_cast<size_t>(T), kMasked);
        for (int64_t s = 0; s < (isCausal ? t + 1 : T); ++s) {
            if (!meets(m, t, s)) continue;
            double& score = result[static_cast<size_t>(s)] = 0;
            for (int64_t d = 0; d < D; ++d) score += q.row(m * T + t)[d] * k.row(m * T + s)[d];
            score = score * scale - (s == t ? kOwnPenalty : 0);
        }
        return result;
    }
    template <class Row> void forEach(Row&& row) const {
        for (int64_t m = 0; m < q.shape[0] * q.shape[1]; ++m)
            for (int64_t t = 0; t < T; ++t) row(m, t);
    }
};

/// One dispatch for each round. Each adds to the result of the one before.
/// @param append adds the kernels of one round; this function sets their grid
template <class Append>
std::vector<Dispatch> byRounds(const OpTypes& types, const KernelTraits& traits, Append append) {
    const Shape &q = types.inputs[Q].shape, &order = types.inputs[Order].shape;
    const uint32_t blocks = q[3] > 32 ? 2 : 1; // of 32 features
    const Lanes8 lanes(traits);
    std::vector<Dispatch> result;
    for (int64_t round = 0; round < order[2]; ++round) {
        const size_t begin = result.size();
        append(result);
        for (size_t i = begin; i < result.size(); ++i) {
            Dispatch& each = result[i];
            each.push = {u32(q[2]),
                         u32(q.rowStride() / 4),
                         pushFloat(types.attributes.number("scale")),
                         u32(types.attributes.integer("chunk")),
                         types.attributes.flag("causal") ? 1u : 0u,
                         u32(round),
                         u32(order[2])};
            each.specialisation = {8, lanes.sets, blocks, lanes.isExact};
            each.x = groupsOf(q[2], int64_t{8} * lanes.sets);
            each.y = groupsOf(q[0] * q[1], 1);
            each.z = groupsOf(q[3], int64_t{32} * blocks);
            each.barrierBefore = round > 0 && i == begin;
        }
    }
    return result;
}

/// The statistics' column of the maximum, which alternates with the rounds.
int64_t statisticsColumn(int64_t rounds) { return 2 * ((rounds - 1) % 2); }

/// The problem of a node of either op, for the host's kernels.
class HostBuckets {
public:
    explicit HostBuckets(const OpTypes& types)
        : q_(types.inputs[Q].shape), order_(types.inputs[Order].shape), chunk_(types.attributes.integer("chunk")),
          scale_(static_cast<float>(types.attributes.number("scale"))), isCausal_(types.attributes.flag("causal")) {}
    int64_t column() const { return statisticsColumn(order_[2]); }
    host::BucketAttention of(const HostRun& run) const {
        return {.M = q_[0] * q_[1],
                .T = q_[2],
                .D = q_[3],
                .R = order_[2],
                .stride = q_.rowStride(),
                .orderStride = order_.rowStride(),
                .chunk = chunk_,
                .scale = scale_,
                .ownPenalty = static_cast<float>(kOwnPenalty),
                .isCausal = isCausal_,
                .q = run.inputs[Q],
                .k = run.inputs[K],
                .v = run.inputs[V],
                .order = run.integers(Order),
                .code = run.integers(Code)};
    }

private:
    Shape q_, order_;
    int64_t chunk_;
    float scale_;
    bool isCausal_;
};

/// The number of operations for all places that the kernels can visit.
/// @param products dot products (2 D operations each) per cell  @param others other operations per cell
double operationsOf(const OpTypes& types, double products, double others) {
    const Shape &q = types.inputs[Q].shape, &order = types.inputs[Order].shape;
    const double reach = types.attributes.flag("causal") ? 1.5 : 2; // chunks that a query meets on average
    const double keys =
        std::min(reach * static_cast<double>(types.attributes.integer("chunk")), static_cast<double>(q[2]));
    return static_cast<double>(order.elements()) * keys * (products * 2 * static_cast<double>(q[3]) + others);
}
double operations(const OpTypes& types) {
    return operationsOf(types, 2, kScaleOperations + 1 + kSoftmaxOperations); // 1: the penalty of a token's own key
}
double gradientOperations(const OpTypes& types) { return operationsOf(types, 7, 0); } // scores and products twice

// bucket_attention: q, k, v, order, code -> z, statistics [B,H,T,4]: twice the maximum and (in the end 1 /) the sum
// -----

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireBuckets(inputs, attributes, Forward, "bucket_attention");
    const Shape& q = inputs[Q].shape;
    return {{.shape = q}, {.shape = {q[0], q[1], q[2], 4}}};
}

void reference(const ReferenceCall& call) {
    const Rows rows(call);
    rows.forEach([&](int64_t m, int64_t t) {
        const auto scores = rows.scores(m, t);
        const RowStatistics row = statisticsOf(scores);
        double* statistics = call.outputs[1].row(m * rows.T + t) + statisticsColumn(rows.R);
        statistics[0] = row.maximum * std::numbers::log2e;
        statistics[1] = row.inverseSum;
        for (int64_t s = 0; s < rows.T; ++s) {
            const double weight = probabilityOf(scores[static_cast<size_t>(s)], row);
            for (int64_t d = 0; d < rows.D && weight != 0; ++d)
                call.outputs[0].row(m * rows.T + t)[d] += weight * rows.v.row(m * rows.T + s)[d];
        }
    });
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    return byRounds(types, traits, [](std::vector<Dispatch>& round) {
        round.push_back({.shader = "attention/bucket_forward",
                         .bindings = {load4(Q), load4(K), load4(V), readInput(Order), readInput(Code), writeOutput(0),
                                      writeOutput(1)}});
    });
}

HostKernel hostKernel(const OpTypes& types) {
    return [problem = HostBuckets(types)](const HostRun& run) {
        host::bucketAttention(problem.of(run), run.outputs[0], run.outputs[1], problem.column(), run.pool);
    };
}

/// The pattern is computed a second time and never stored.
std::vector<Tensor> gradient(const GradientCall& call) {
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    const Tensor dz = call.outputGradients[0];
    inputs.insert(inputs.end(),
                  {call.outputs[1], reduce(binary(call.outputs[0], dz, Binary::Multiply), Reduction::Sum, {-1}), dz});
    const Tensor dq = call.graph.add(kBucketAttentionGradient, inputs, call.attributes);
    return {dq, {dq.graph, dq.node, 1}, {dq.graph, dq.node, 2}, {}, {}};
}

// bucket_attention_gradient: q, k, v, order, code, statistics, z . dz [B,H,T,1], dz -> dq, dk, dv
// ------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireBuckets(inputs, attributes, Gradient, "bucket_attention_gradient");
    return {inputs[Q], inputs[K], inputs[V]};
}

void referenceGradient(const ReferenceCall& call) {
    const Rows rows(call);
    const ReferenceTensor &dz = call.inputs[Dz], &dq = call.outputs[0], &dk = call.outputs[1], &dv = call.outputs[2];
    rows.forEach([&](int64_t m, int64_t t) {
        const auto scores = rows.scores(m, t);
        const RowStatistics row = statisticsOf(scores);
        const int64_t query = m * rows.T + t;
        for (int64_t s = 0; s < rows.T; ++s) {
            const double p = probabilityOf(scores[static_cast<size_t>(s)], row);
            if (p == 0) continue;
            const int64_t key = m * rows.T + s;
            double product = 0;
            for (int64_t d = 0; d < rows.D; ++d) product += dz.row(query)[d] * rows.v.row(key)[d];
            const double ds = p * (product - call.inputs[Products].row(query)[0]) * rows.scale;
            for (int64_t d = 0; d < rows.D; ++d) {
                dv.row(key)[d] += p * dz.row(query)[d];
                dq.row(query)[d] += ds * rows.k.row(key)[d];
                dk.row(key)[d] += ds * rows.q.row(query)[d];
            }
        }
    });
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    const std::vector<Binding> inputs{
        load4(Q), load4(K), load4(V), readInput(Order), readInput(Code), readInput(Statistics), readInput(Products),
        load4(Dz)};
    return byRounds(types, traits, [&](std::vector<Dispatch>& round) {
        round.push_back({.shader = "attention/bucket_gradient_queries", .bindings = inputs});
        round.back().bindings.push_back(writeOutput(0));
        round.push_back({.shader = "attention/bucket_gradient_keys", .bindings = inputs});
        round.back().bindings.insert(round.back().bindings.end(), {writeOutput(1), writeOutput(2)});
    });
}

HostKernel hostGradient(const OpTypes& types) {
    return [problem = HostBuckets(types)](const HostRun& run) {
        host::bucketAttentionGradient(problem.of(run),
                                      {.statistics = run.inputs[Statistics] + problem.column(),
                                       .products = run.inputs[Products],
                                       .dz = run.inputs[Dz],
                                       .dq = run.outputs[0],
                                       .dk = run.outputs[1],
                                       .dv = run.outputs[2]},
                                      run.pool);
    };
}

} // namespace

const Op kBucketAttention{.name = "bucket_attention",
                          .infer = infer,
                          .reference = reference,
                          .dispatch = dispatch,
                          .host = hostKernel,
                          .gradient = gradient,
                          .operations = operations};
const Op kBucketAttentionGradient{.name = "bucket_attention_gradient",
                                  .infer = inferGradient,
                                  .reference = referenceGradient,
                                  .dispatch = dispatchGradient,
                                  .host = hostGradient,
                                  .operations = gradientOperations};

Tensor bucketAttention(const BucketAttentionInputs& in, double scale, bool isCausal) {
    return in.q.graph->add(kBucketAttention, {in.q, in.k, in.v, in.order, in.code},
                           {{"scale", scale}, {"causal", isCausal ? 1 : 0}, {"chunk", static_cast<double>(in.chunk)}});
}

} // namespace attn
