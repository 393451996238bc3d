#include "engine/attention/mixer/mixers.h"
#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/terms.h"

#include <cmath>
#include <numbers>

// Parts that replace attention: they act on v, and some also on q and k.

namespace attn {
namespace {

using namespace terms;

// FNet ---------------------------------------------------------------------------------------------------------------

double turn(int64_t i, int64_t j, int64_t n) {
    return 2 * std::numbers::pi * static_cast<double>(i * j % n) / static_cast<double>(n);
}

Tensor waves(AttentionFlow& flow, const std::string& name, int64_t n, double (*wave)(double)) {
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) values.push_back(static_cast<float>(wave(turn(i, j, n))));
    return flow.constant(name + std::to_string(n), {n, n}, std::move(values));
}

/// Re(F_T x F_D) = C_T x C_D - S_T x S_D with the cosine and sine matrices of each axis.
void buildFourier(AttentionFlow& flow, PartValues) {
    const auto cosine = [](double x) { return std::cos(x); };
    const auto sine = [](double x) { return std::sin(x); };
    const Tensor ct = waves(flow, "mixer.cosine", flow.keys, cosine), st = waves(flow, "mixer.sine", flow.keys, sine);
    const Tensor cd = waves(flow, "mixer.cosine", flow.width, cosine), sd = waves(flow, "mixer.sine", flow.width, sine);
    flow.show("fnet.cosine", affine(ct, 1, 0)); // a constant by itself is no result
    flow.show("fnet.sine", affine(st, 1, 0));
    flow.z = minus(batchedMatmul(ct, batchedMatmul(flow.v, cd)), batchedMatmul(st, batchedMatmul(flow.v, sd)));
}
void referenceFourier(ReferenceFlow& flow, PartValues) {
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t d = 0; d < flow.width; ++d)
                for (int64_t s = 0; s < flow.keys; ++s)
                    for (int64_t e = 0; e < flow.width; ++e)
                        flow.z.at(h, t, d) +=
                            flow.v.at(h, s, e) * std::cos(turn(t, s, flow.keys) + turn(d, e, flow.width));
}

// MLP-Mixer ----------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kMlpParams{
    {{"hidden", "Hidden", "Hidden units of the network that mixes tokens", Param::Kind::Integer, 1, 4096, 1, 32}}};

Tensor firstWeights(AttentionFlow& flow, PartValues values) {
    return flow.parameter("mixer.W_1", {values.integer("hidden"), flow.keys},
                          {InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(flow.keys))});
}
void buildMlp(AttentionFlow& flow, PartValues values) {
    const int64_t hidden = values.integer("hidden");
    const Tensor w1 = firstWeights(flow, values);
    const Tensor w2 = flow.parameter("mixer.W_2", {flow.queries, hidden},
                                     {InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(hidden))});
    const Tensor argument = batchedMatmul(w1, flow.v); // [hidden,S] . [B,H,S,D]
    flow.z = batchedMatmul(w2, activate(argument, Activation::GeluErf));
    // Influence: the mean over channels of |d z_t / d v_s|, by W_2 diag(gelu') W_1 for every channel.
    const Tensor slope = activate(affine(argument, 1, 1e-3), Activation::GeluErf);
    const Tensor slopes = affine(minus(slope, activate(affine(argument, 1, -1e-3), Activation::GeluErf)), 500, 0);
    const int64_t BH = flow.batch * flow.heads;
    const Tensor perChannel = reshape(permute(slopes, {0, 1, 3, 2}), {BH, flow.width, 1, hidden});
    const Tensor jacobian = batchedMatmul(times(w2, perChannel), w1); // [BH,D,T,hidden] . [hidden,S]
    flow.show("mlp_mixer.influence", reshape(reduce(unary(jacobian, Unary::Absolute), Reduction::Mean, {1}),
                                             {flow.batch, flow.heads, flow.queries, flow.keys}));
}
void referenceMlp(ReferenceFlow& flow, PartValues values) {
    const int64_t hidden = values.integer("hidden");
    const Dense &w1 = flow.parameters.at("mixer.W_1"), &w2 = flow.parameters.at("mixer.W_2");
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t d = 0; d < flow.width; ++d)
            for (int64_t u = 0; u < hidden; ++u) {
                double x = 0;
                for (int64_t s = 0; s < flow.keys; ++s) x += w1.at(u, s) * flow.v.at(h, s, d);
                const double y = x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
                for (int64_t t = 0; t < flow.queries; ++t) flow.z.at(h, t, d) += w2.at(t, u) * y;
            }
}

// Fast weights -------------------------------------------------------------------------------------------------------

void buildFastWeights(AttentionFlow& flow, PartValues) {
    mixFeatures(
        flow, flow.q, [](Tensor k, bool) { return k; }, false);
}
void referenceFastWeights(ReferenceFlow& flow, PartValues) {
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            double dot = 0;
            for (int64_t d = 0; d < flow.width; ++d) dot += flow.q.at(h, t, d) * flow.k.at(h, s, d);
            return dot;
        },
        false);
}

} // namespace

const Part kAttentionMixer{
    .id = "attention",
    .slot = Slot::Mixer,
    .title = "Attention",
    .idea = "A pattern that depends on the content mixes the tokens. Every other part of this slot mixes them in "
            "another way.",
    .formula = "z = A V",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2", "arXiv:1706.03762"},
    .time = "O(T S D)",
    .memory = "O(T D)"};

const Part kFourierMixer{.id = "fnet",
                         .slot = Slot::Mixer,
                         .title = "Fourier (FNet)",
                         .idea = "A Fourier transform over positions and features mixes the tokens, with nothing to "
                                 "learn. Every output is a sum over all inputs.",
                         .formula = "z = Re(F_T V F_D)",
                         .source = {"Lee-Thorp et al.", 2022, "FNet: Mixing Tokens with Fourier Transforms",
                                    "section 3.2", "arXiv:2105.03824"},
                         .time = "O(T^2 D + T D^2) as products, O(T D log T) with fast transforms",
                         .memory = "O(T^2 + D^2)",
                         .hooks = {{Stage::Normalise, buildFourier, referenceFourier}},
                         .masks = MaskSupport::FullOnly,
                         .usesScores = false,
                         .replacesAttention = true,
                         .usesQueriesKeys = false,
                         .ignoresZeroRows = true,
                         .needsEqualLengths = true};

const Part kMlpMixer{
    .id = "mlp_mixer",
    .slot = Slot::Mixer,
    .title = "MLP-Mixer",
    .idea = "A small network mixes the tokens of each channel; all channels share it. Its parameters belong to "
            "positions, so it works at one length only.",
    .formula = "z = W_2 gelu(W_1 V)",
    .source = {"Tolstikhin et al.", 2021, "MLP-Mixer: An all-MLP Architecture for Vision", "section 2, equation 1",
               "arXiv:2105.01601"},
    .params = kMlpParams,
    .time = "O(T hidden D)",
    .memory = "O(T hidden) parameters",
    .hooks = {{Stage::Normalise, buildMlp, referenceMlp}},
    .masks = MaskSupport::FullOnly,
    .usesScores = false,
    .replacesAttention = true,
    .usesQueriesKeys = false,
    .ignoresZeroRows = true};

const Part kFastWeightMixer{.id = "fast_weights",
                            .slot = Slot::Mixer,
                            .title = "Fast weights",
                            .idea = "Each token adds the outer product of its key and value to a matrix, which its "
                                    "query then reads. This is linear attention without features and without a "
                                    "normaliser, known since 1992.",
                            .formula = "W_i = W_{i-1} + k_i v_i^T, z_i = q_i W_i",
                            .source = {"Schlag et al.", 2021,
                                       "Linear Transformers Are Secretly Fast Weight Programmers", "section 2 and 3.1",
                                       "arXiv:2102.11174"},
                            .time = "O(T D^2)",
                            .memory = "O(T D + D^2)",
                            .hooks = {{Stage::Normalise, buildFastWeights, referenceFastWeights}},
                            .masks = MaskSupport::FullOrCausal,
                            .usesScores = false,
                            .replacesAttention = true,
                            .keepsState = true};

} // namespace attn
