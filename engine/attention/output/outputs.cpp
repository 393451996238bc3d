#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <cmath>

namespace attn {
namespace {

using namespace terms;

// Talking ------------------------------------------------------------------------------------------------------------

void buildTalking(AttentionFlow& flow, PartValues) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, D = flow.width;
    const Tensor w = flow.parameter("output.mix", {H, H}, {InitialValue::Kind::Identity, 0.1});
    flow.z = reshape(batchedMatmul(w, reshape(flow.z, {B, H, T * D})), {B, H, T, D});
}
void referenceTalking(ReferenceFlow& flow, PartValues) {
    const Dense before = flow.z, &w = flow.parameters.at("output.mix");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t d = 0; d < flow.width; ++d) {
                flow.z.at(h, t, d) = 0;
                for (int64_t g = 0; g < flow.heads; ++g) flow.z.at(h, t, d) += w.at(h, g) * before.at(g, t, d);
            }
}

// Gated --------------------------------------------------------------------------------------------------------------

void buildGated(AttentionFlow& flow, PartValues) {
    const int64_t D = flow.width;
    const Tensor w = flow.parameter("output.W_G", {flow.heads, D, D},
                                    {InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(D))});
    const Tensor b = flow.parameter("output.b_G", {flow.heads, 1, D}, {InitialValue::Kind::Zero});
    const Tensor gate = unary(plus(product(flow.q, w), b), Unary::Sigmoid); // [B,H,T,D]
    flow.show("output.gate", gate);
    flow.z = times(flow.z, gate);
}
void referenceGated(ReferenceFlow& flow, PartValues) {
    const Dense &w = flow.parameters.at("output.W_G"), &b = flow.parameters.at("output.b_G");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t d = 0; d < flow.width; ++d) {
                double argument = b.at(h, 0, d);
                for (int64_t e = 0; e < flow.width; ++e) argument += w.at(h, d, e) * flow.q.at(h, t, e);
                flow.z.at(h, t, d) /= 1 + std::exp(-argument);
            }
}

} // namespace

const Part kPlainOutput{
    .id = "plain",
    .slot = Slot::Output,
    .title = "Plain",
    .idea = "The heads' outputs are concatenated and projected back into the residual stream. Each head thereby adds "
            "its own vector.",
    .formula = "o_i = [z_i^1, ..., z_i^H] W_O",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.2", "arXiv:1706.03762"},
    .time = "0",
    .memory = "0"};

const Part kTalkingOutput{
    .id = "talking",
    .slot = Slot::Output,
    .title = "Talking outputs",
    .idea = "A learned matrix mixes the heads' outputs before they are projected. It is the half of talking heads "
            "that comes after the softmax, applied to outputs instead of patterns.",
    .formula = "z'^h = sum_g P(h,g) z^g",
    .source = {"Shazeer et al.", 2020, "Talking-Heads Attention", "section 4, after softmax only", "arXiv:2003.02436"},
    .time = "O(T H C)",
    .memory = "O(H^2) parameters",
    .hooks = {{Stage::Output, buildTalking, referenceTalking}},
    .mixesHeads = true};

const Part kGatedOutput{
    .id = "gated",
    .slot = Slot::Output,
    .title = "Gated",
    .idea = "Each head's output is multiplied, feature by feature, by a sigmoid that depends on the query. A head "
            "that finds nothing can close its gate instead of placing its attention on the first token.",
    .formula = "z'_i = z_i * sigma(W_G q_i + b_G)",
    .source = {"Qiu et al.", 2025,
               "Gated Attention for Large Language Models: Non-linearity, Sparsity, and Attention-Sink-Free",
               "section 2.2, computed from the query", "arXiv:2505.06708"},
    .time = "O(T D C)",
    .memory = "O(D C) parameters",
    .hooks = {{Stage::Output, buildGated, referenceGated}}};

} // namespace attn
