#include "engine/host/product.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"

namespace attn {
namespace {

// attention_mix_transposed: pattern, x -------------------------------------------------------------------------------

std::vector<TensorType> inferMixTransposed(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 2, "attention_mix_transposed");
    requireWhole(inputs, "attention_mix_transposed");
    const Shape &pattern = inputs[0].shape, &x = inputs[1].shape;
    require(pattern.rank() == 3 && x.rank() == 3 && pattern[1] == x[0] && pattern[0] == x[1],
            "attention_mix_transposed",
            fmt::format("pattern {} must be [H,T,S] and x {} [T,H,D]", pattern.text(), x.text()));
    return {{.shape = {pattern[2], attributes.integer("groups"), x[2]}}};
}

void referenceMixTransposed(const ReferenceCall& call) {
    const ReferenceTensor &pattern = call.inputs[0], &x = call.inputs[1], &y = call.outputs[0];
    const int64_t heads = pattern.shape[0], queries = pattern.shape[1], groups = y.shape[1];
    for (int64_t head = 0; head < heads; ++head)
        for (int64_t t = 0; t < queries; ++t)
            for (int64_t s = 0; s < pattern.columns(); ++s)
                for (int64_t d = 0; d < x.columns(); ++d)
                    y.row(s * groups + head / (heads / groups))[d] +=
                        pattern.row(head * queries + t)[s] * x.row(t * heads + head)[d];
}

std::vector<Dispatch> dispatchMixTransposed(const OpTypes& types, const KernelTraits&) {
    const Shape &pattern = types.inputs[0].shape, &out = types.outputs[0].shape;
    return {{.shader = "attention/mix_transposed",
             .bindings = {readInput(0), load4(1), writeOutput(0)},
             .push = {u32(pattern[1]), u32(pattern[2]), u32(pattern[0]), u32(out[1]), u32(out.rowStride() / 4),
                      u32(pattern.rowStride())},
             .x = gridPerVec4(types.outputs[0]).x,
             .y = gridPerVec4(types.outputs[0]).y}};
}

/// Each thread computes keys of its own, so the heads of a group are added in a fixed order.
HostKernel hostMixTransposed(const OpTypes& types) {
    return
        [pattern = types.inputs[0].shape, x = types.inputs[1].shape, out = types.outputs[0].shape](const HostRun& run) {
            const int64_t H = pattern[0], T = pattern[1], S = out[0], G = out[1], D = out[2], stride = out.rowStride();
            constexpr int64_t kRows = 64; // of a task
            const int64_t blocks = (S + kRows - 1) / kRows;
            run.pool.run(G * blocks, [&](int64_t i) {
                const int64_t group = i / blocks, first = i % blocks * kRows, rows = std::min(kRows, S - first);
                float* to = run.outputs[0] + (first * G + group) * stride;
                for (int64_t head = group * (H / G); head < (group + 1) * (H / G); ++head)
                    host::product({rows, D, T},
                                  {run.inputs[0] + head * T * pattern.rowStride() + first, pattern.rowStride(), true},
                                  {run.inputs[1] + head * stride, x[1] * stride}, to, G * stride, 1,
                                  head == group * (H / G) ? 0 : 1);
                for (int64_t row = 0; row < rows; ++row)
                    std::fill(to + row * G * stride + D, to + row * G * stride + stride, 0.0f);
            });
        };
}

// fused_attention_gradient: q, k, v, queryPosition, keyPosition, gates, z, statistics, dz -> dq, dk, dv, statistics
// with z . dz in column 2
// -----------------------------------------------------------------------------------------------

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 9, "fused_attention_gradient");
    requireWhole(inputs, "fused_attention_gradient");
    return {inputs[0], inputs[1], inputs[2], inputs[7]};
}

void reference(const ReferenceCall& call) {
    const auto& [q, k, v, dz] = std::tie(call.inputs[0], call.inputs[1], call.inputs[2], call.inputs[8]);
    const auto& [dq, dk, dv] = std::tie(call.outputs[0], call.outputs[1], call.outputs[2]);
    const int64_t heads = q.shape[1], groups = k.shape[1], D = q.columns();
    const double scale = call.attributes.number("scale");
    for (int64_t head = 0; head < heads; ++head)
        for (int64_t t = 0; t < q.shape[0]; ++t) {
            const auto scores = referenceScores(call, q, k, call.inputs[3], call.inputs[4], t, head);
            const RowStatistics row = statisticsOf(scores);
            const double gate = call.inputs[5].data[head];
            const int64_t query = t * heads + head;
            std::vector<double> products(scores.size());
            double delta = 0;
            for (int64_t s = 0; s < k.shape[0]; ++s) {
                const int64_t key = s * groups + head / (heads / groups);
                const double p = probabilityOf(scores[static_cast<size_t>(s)], row);
                double& product = products[static_cast<size_t>(s)];
                for (int64_t d = 0; d < D; ++d) product += gate * dz.row(query)[d] * v.row(key)[d];
                for (int64_t d = 0; d < D; ++d) dv.row(key)[d] += gate * p * dz.row(query)[d];
                delta += p * product;
            }
            for (int64_t s = 0; s < k.shape[0]; ++s) {
                const int64_t key = s * groups + head / (heads / groups);
                const double ds = probabilityOf(scores[static_cast<size_t>(s)], row) *
                                  (products[static_cast<size_t>(s)] - delta) * scale;
                for (int64_t d = 0; d < D; ++d) dq.row(query)[d] += ds * k.row(key)[d];
                for (int64_t d = 0; d < D; ++d) dk.row(key)[d] += ds * q.row(query)[d];
            }
            const double* given = call.inputs[7].row(head * q.shape[0] + t);
            double* statistics = call.outputs[3].row(head * q.shape[0] + t);
            std::copy_n(given, 2, statistics);
            statistics[2] = delta;
        }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const Shape &q = types.inputs[0].shape, &k = types.inputs[1].shape;
    const Lanes8 lanes(traits);
    const uint32_t blocks = q[2] > 32 ? 2 : 1; // of 32 features
    const Binding statistics{Access::Load4, true, 3};
    const auto make = [&](std::string_view shader, std::vector<Binding> bindings, int64_t rows, int64_t heads,
                          int64_t passes) {
        return Dispatch{.shader = shader,
                        .bindings = std::move(bindings),
                        .push = attentionPush(types),
                        .specialisation = {8, lanes.sets, blocks, lanes.isExact},
                        .x = groupsOf(rowTiles(ruleOf(types.attributes), rows), lanes.sets),
                        .y = groupsOf(heads, 1),
                        .z = groupsOf(passes, 1)};
    };
    const int64_t passes = (q[2] + 32 * blocks - 1) / (32 * blocks);
    std::vector<Dispatch> result{make("attention/gradient_queries",
                                      {load4(0), load4(1), load4(2), readInput(3), readInput(4), readInput(5), load4(6),
                                       load4(7), load4(8), writeOutput(0), writeOutput(3)},
                                      q[0], q[1], passes),
                                 make("attention/gradient_keys",
                                      {load4(0), load4(1), load4(2), readInput(3), readInput(4), readInput(5), load4(8),
                                       statistics, writeOutput(1), writeOutput(2)},
                                      k[0], k[1], passes)};
    result[1].barrierBefore = true; // the second dispatch reads the products of the first
    return result;
}

HostKernel hostKernel(const OpTypes& types) {
    return [problem = HostAttention(types)](const HostRun& run) {
        host::attentionGradient(problem.of(run),
                                {.z = run.inputs[6],
                                 .statistics = run.inputs[7],
                                 .dz = run.inputs[8],
                                 .dq = run.outputs[0],
                                 .dk = run.outputs[1],
                                 .dv = run.outputs[2],
                                 .products = run.outputs[3]},
                                run.pool);
    };
}

double operationsMixTransposed(const OpTypes& types) {
    return 2 * static_cast<double>(types.inputs[0].shape.elements() * types.inputs[1].shape.columns());
}
/// Seven dot products (2 D operations each) per cell: scores and products are computed twice.
double operations(const OpTypes& types) {
    const Shape& q = types.inputs[0].shape;
    return 7 * 2 * static_cast<double>(q.elements()) * static_cast<double>(types.inputs[1].shape[0]);
}

} // namespace

const Op kAttentionMixTransposed{.name = "attention_mix_transposed",
                                 .infer = inferMixTransposed,
                                 .reference = referenceMixTransposed,
                                 .dispatch = dispatchMixTransposed,
                                 .host = hostMixTransposed,
                                 .operations = operationsMixTransposed};
const Op kFusedAttentionGradient{.name = "fused_attention_gradient",
                                 .infer = infer,
                                 .reference = reference,
                                 .dispatch = dispatch,
                                 .host = hostKernel,
                                 .operations = operations};

Tensor attentionMixTransposed(Tensor pattern, Tensor x, int64_t groups) {
    return pattern.graph->add(kAttentionMixTransposed, {pattern, x}, {{"groups", static_cast<double>(groups)}});
}

} // namespace attn
