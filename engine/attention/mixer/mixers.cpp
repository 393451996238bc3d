#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <cmath>
#include <numbers>

// Parts that replace attention. Those of the stream act on its rows, which flow.v holds as one head of width C.

namespace attn {
namespace {

using namespace terms;

// FNet ---------------------------------------------------------------------------------------------------------------

/// The angle 2 pi i j / n.
double turn(int64_t i, int64_t j, int64_t n) {
    return 2 * std::numbers::pi * static_cast<double>(i * j % n) / static_cast<double>(n);
}

/// A constant matrix of the transform. @param of its number in a row and a column
Tensor matrix(AttentionFlow& flow, const char* name, Shape shape, const std::function<double(int64_t, int64_t)>& of) {
    return flow.constant(std::string("mixer.") + name, shape, [shape, of] {
        std::vector<float> values;
        for (int64_t row = 0; row < shape.rows(); ++row)
            for (int64_t column = 0; column < shape.columns(); ++column)
                values.push_back(static_cast<float>(of(row, column)));
        return values;
    });
}

/// The factor T2 of T = T1 T2 with which the two stages of a transform cost least.
int64_t innerFactor(int64_t length) {
    int64_t best = 1;
    const auto costOf = [&](int64_t inner) { return length / inner + (inner > 1 ? 2 * inner : 0); };
    for (int64_t inner = 2; inner < length; ++inner)
        if (length % inner == 0 && costOf(inner) < costOf(best)) best = inner;
    return best;
}

/// Re(F_T x F_C). The transform over T = T1 T2 tokens takes two stages, over T1 and over T2, as products with small
/// matrices; the second one also turns each number by its twiddle factor. With s = T2 s1 + s2 and t = t1 + T1 t2 the
/// angle t s / T is t1 s1 / T1 + s2 (t1 + T1 t2) / T.
/// @source Cooley and Tukey 1965, "An Algorithm for the Machine Calculation of Complex Fourier Series"
void buildFourier(AttentionFlow& flow, PartValues) {
    const int64_t B = flow.batch, T = flow.keys, C = flow.width, T2 = innerFactor(T), T1 = T / T2;
    const auto cosines = [T](int64_t i, int64_t j) { return std::cos(turn(i, j, T)); };
    const auto sines = [T](int64_t i, int64_t j) { return std::sin(turn(i, j, T)); };
    flow.show("fnet.cosine", affine(matrix(flow, "cosine", {T, T}, cosines), 1, 0)); // a constant is no result
    flow.show("fnet.sine", affine(matrix(flow, "sine", {T, T}, sines), 1, 0));

    // Real and imaginary parts lie beside each other: [B, T1, (part, T2, C)].
    const Tensor first = matrix(flow, "tokens", {2 * T1, T1}, [T1](int64_t row, int64_t s1) {
        const double angle = turn(row / 2, s1, T1);
        return row % 2 == 0 ? std::cos(angle) : -std::sin(angle);
    });
    Tensor x = batchedMatmul(first, reshape(flow.v, {B, T1, T2 * C}));
    if (T2 > 1) {
        const Tensor second = matrix(flow, "turned", {T1, 2 * T2, 2 * T2}, [T, T1, T2](int64_t row, int64_t column) {
            const int64_t t1 = row / (2 * T2), t2 = row % (2 * T2) / 2, to = row % 2, from = column / T2;
            const double angle = turn(column % T2, t1 + T1 * t2, T);
            return to == from ? std::cos(angle) : to == 0 ? std::sin(angle) : -std::sin(angle);
        });
        x = batchedMatmul(second, reshape(x, {B, T1, 2 * T2, C})); // [B,T1,(T2,part),C]
        x = permute(reshape(x, {B, T1, T2, 2 * C}), {0, 2, 1, 3});
    }
    const Tensor features = matrix(flow, "features", {2 * C, C}, [C](int64_t row, int64_t column) {
        const double angle = turn(row % C, column, C);
        return row < C ? std::cos(angle) : std::sin(angle);
    });
    flow.z = batchedMatmul(reshape(x, {B, 1, T, 2 * C}), features);
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

/// W_1 x + b_1 over the tokens of every channel. @return [B,1,hidden,C]
Tensor hiddenArgument(Tensor w1, Tensor b1, Tensor x) {
    return plus(batchedMatmul(w1, x), reshape(b1, {b1.shape().elements(), 1})); // [hidden,S] . [B,1,S,C]
}
void buildMlp(AttentionFlow& flow, PartValues values) {
    const int64_t hidden = values.integer("hidden"), B = flow.batch, T = flow.queries, S = flow.keys, C = flow.width;
    const auto normal = [](int64_t terms) {
        return InitialValue{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(terms))};
    };
    const Tensor w1 = flow.parameter("mixer.W_1", {hidden, S}, normal(S)), b1 = flow.parameter("mixer.b_1", {hidden}),
                 w2 = flow.parameter("mixer.W_2", {T, hidden}, normal(hidden)), b2 = flow.parameter("mixer.b_2", {T});
    const Tensor argument = hiddenArgument(w1, b1, flow.v);
    flow.z = plus(batchedMatmul(w2, activate(argument, Activation::GeluErf)), reshape(b2, {T, 1}));
    // Influence: the mean over channels of |d z_t / d x_s|, by W_2 diag(gelu') W_1 for every channel.
    const Tensor slope = activate(affine(argument, 1, 1e-3), Activation::GeluErf);
    const Tensor slopes = affine(minus(slope, activate(affine(argument, 1, -1e-3), Activation::GeluErf)), 500, 0);
    const Tensor perChannel = reshape(permute(slopes, {0, 1, 3, 2}), {B, C, 1, hidden});
    const Tensor jacobian = batchedMatmul(times(w2, perChannel), w1); // [B,C,T,hidden] . [hidden,S]
    flow.show("mlp_mixer.influence",
              reshape(reduce(unary(jacobian, Unary::Absolute), Reduction::Mean, {1}), {B, 1, T, S}));
}
void referenceMlp(ReferenceFlow& flow, PartValues values) {
    const int64_t hidden = values.integer("hidden");
    const auto parameter = [&](const char* name) -> const Dense& { return flow.parameters.at(name); };
    const Dense &w1 = parameter("mixer.W_1"), &w2 = parameter("mixer.W_2"), &b1 = parameter("mixer.b_1"),
                &b2 = parameter("mixer.b_2");
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t d = 0; d < flow.width; ++d)
        for (int64_t t = 0; t < flow.queries; ++t) {
            flow.z.at(0, t, d) = b2.at(t);
            for (int64_t u = 0; u < hidden; ++u) {
                double x = b1.at(u);
                for (int64_t s = 0; s < flow.keys; ++s) x += w1.at(u, s) * flow.v.at(0, s, d);
                flow.z.at(0, t, d) += w2.at(t, u) * x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
            }
        }
}

// Fast weights -------------------------------------------------------------------------------------------------------

void buildFastWeights(AttentionFlow& flow, PartValues) {
    mixFeatures(
        flow, {.factors = flow.q, .exponents = {}},
        [](Tensor k, bool) { return Features{.factors = k, .exponents = {}}; }, false);
}
void referenceFastWeights(ReferenceFlow& flow, PartValues) {
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            double dot = 0;
            for (int64_t d = 0; d < flow.width; ++d) dot += flow.q.at(h, t, d) * flow.k.at(h, s, d);
            return Weight{.factor = dot};
        },
        false);
}

} // namespace

const Part kAttentionMixer{
    .id = "attention",
    .slot = Slot::Mixer,
    .title = "Attention (dynamic linear layer)",
    .idea = "Attention multiplies the values by a matrix, as a linear layer does, but computes the matrix from its "
            "input: W(x) is the pattern. A static layer keeps the same W for every input; the Playground shows both "
            "in its tab Linear layer. Every other part of this slot mixes the tokens in another way.",
    .formula = "z = W(x) V, W(x) = softmax(Q K^T / sqrt(D))",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2", "arXiv:1706.03762"},
    .time = "O(T S D)",
    .memory = "O(T D)"};

const Part kFourierMixer{.id = "fnet",
                         .slot = Slot::Mixer,
                         .title = "Fourier (FNet)",
                         .idea = "A Fourier transform over positions and over all features mixes the rows of the "
                                 "residual stream. Nothing is learned: there are no projections and no heads.",
                         .formula = "y = Re(F_T x F_C)",
                         .source = {"Lee-Thorp et al.", 2022, "FNet: Mixing Tokens with Fourier Transforms",
                                    "section 3.2", "arXiv:2105.03824"},
                         .time = "O(T (T_1 + T_2) C + T C^2) for T = T_1 T_2",
                         .memory = "O(T C), no parameters",
                         .hooks = {{Stage::Normalise, buildFourier, referenceFourier}},
                         .mix = {.masks = MaskSupport::FullOnly,
                                 .usesScores = false,
                                 .replacesAttention = true,
                                 .mixesStream = true,
                                 .ignoresZeroRows = true,
                                 .pairs = noPairs},
                         .needsEqualLengths = true};

const Part kMlpMixer{
    .id = "mlp_mixer",
    .slot = Slot::Mixer,
    .title = "MLP-Mixer",
    .idea =
        "A small network mixes the tokens of each channel of the stream; all channels share it, and nothing else is "
        "learned. Its parameters belong to positions, so it works at one length only.",
    .formula = "y = W_2 gelu(W_1 x + b_1) + b_2",
    .source = {"Tolstikhin et al.", 2021, "MLP-Mixer: An all-MLP Architecture for Vision", "section 2, equation 1",
               "arXiv:2105.01601"},
    .params = kMlpParams,
    .time = "O(T hidden C)",
    .memory = "O(T hidden) parameters",
    .hooks = {{Stage::Normalise, buildMlp, referenceMlp}},
    .mix = {.masks = MaskSupport::FullOnly,
            .usesScores = false,
            .replacesAttention = true,
            .mixesStream = true,
            .ignoresZeroRows = true,
            .pairs = noPairs},
    .needsEqualLengths = true};

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
                            .mix = {.masks = MaskSupport::FullOrCausal,
                                    .usesScores = false,
                                    .replacesAttention = true,
                                    .keepsState = true,
                                    .pairs = noPairs}};

} // namespace attn
