#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/core/random_rows.h"

#include <cmath>

// Softmax replaced by a dot product of features.

namespace attn {
namespace {

using namespace terms;

double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
    return sum;
}

/// Normalised attention by features that views can show.
void mix(AttentionFlow& flow, const Features& queries, const FeaturesOfKeys& ofKeys) {
    mixFeatures(flow, queries, ofKeys, true);
    if (flow.isStep()) return;
    flow.show("features.queries", shownFeatures(queries));
    flow.show("features.keys", shownFeatures(ofKeys(flow.k, false)));
}

/// The features of a row of a head, or their logarithms; and the logarithm of the weight of a key.
using RowFeatures = std::function<std::vector<double>(const double* x, int64_t head)>;
using LogWeight = std::function<double(int64_t head, int64_t key)>;
/// The weight of features a of a query and b of a key.
using Meeting = std::function<Weight(std::span<const double> a, std::span<const double> b)>;

void mixReference(ReferenceFlow& flow, const RowFeatures& features, const Meeting& meet,
                  const LogWeight& logWeight = {}) {
    const auto all = [&](const Dense& x, int64_t rows) {
        std::vector<std::vector<double>> result;
        for (int64_t row = 0; row < flow.heads * rows; ++row)
            result.push_back(features(&x.data[static_cast<size_t>(row * flow.width)], row / rows));
        return result;
    };
    const auto a = all(flow.q, flow.queries), b = all(flow.k, flow.keys);
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            Weight weight =
                meet(a[static_cast<size_t>(h * flow.queries + t)], b[static_cast<size_t>(h * flow.keys + s)]);
            if (logWeight) weight.exponent += logWeight(h, s);
            return weight;
        },
        true);
}

/// The sum of the exponentials of a + b.
Weight sumOfExponentials(std::span<const double> a, std::span<const double> b) {
    Weight weight{.factor = 0, .exponent = a[0] + b[0]};
    for (size_t f = 0; f < a.size(); ++f) weight.exponent = std::max(weight.exponent, a[f] + b[f]);
    for (size_t f = 0; f < a.size(); ++f) weight.factor += std::exp(a[f] + b[f] - weight.exponent);
    return weight;
}

// Linear attention ---------------------------------------------------------------------------------------------------

/// The logarithm of elu(x) + 1, which is x below 0.
Tensor logEluPlusOne(Tensor x) {
    const Tensor above = unary(affine(unary(x, Unary::Relu), 1, 1), Unary::Logarithm);
    return plus(above, binary(x, fill(*x.graph, {1, 1}, 0), Binary::Minimum));
}

void buildLinear(AttentionFlow& flow, PartValues) {
    const auto features = [](Tensor x, bool = false) {
        return Features{.factors = {}, .exponents = logEluPlusOne(x), .isBounded = true};
    };
    mix(flow, features(flow.q), features);
}
void referenceLinear(ReferenceFlow& flow, PartValues) {
    mixReference(
        flow,
        [&](const double* x, int64_t) {
            std::vector<double> result(x, x + flow.width);
            for (double& value : result) value = value > 0 ? std::log1p(value) : value;
            return result;
        },
        sumOfExponentials);
}

// Random features ----------------------------------------------------------------------------------------------------

constexpr Param kFeatures{
    "features", "Features", "More features approximate the softmax better", Param::Kind::Integer, 4, 4096, 4, 64};
constexpr Param kSeed{"seed", "Seed", "Seed of the random directions", Param::Kind::Integer, 0, 1e6, 1, 0};
constexpr Param toggle(std::string_view id, std::string_view title, std::string_view help, double initial) {
    return {id, title, help, Param::Kind::Toggle, 0, 1, 1, initial};
}
constexpr std::string_view kOrthogonalHelp = "Directions at right angles lower the variance";
constexpr std::array<Param, 7> kRandomFeatureParams{
    {kFeatures,
     {"sigma", "Sigma", "Approximates the softmax of q . k / sigma^2", Param::Kind::Real, 0.5, 16, 0.1, 1},
     kSeed,
     toggle("unit", "Unit length", "Queries and keys get the length 1, as in the paper", 1),
     toggle("gate", "Gate", "A learned gate lets the state forget earlier tokens", 0),
     toggle("orthogonal", "Orthogonal", kOrthogonalHelp, 0),
     toggle("learned", "Learned", "Each head learns how large the directions are in each feature", 0)}};
constexpr std::array<Param, 3> kPerformerParams{
    {kFeatures, kSeed, toggle("orthogonal", "Orthogonal", kOrthogonalHelp, 1)}};

/// Random directions, one a row, whose numbers have a standard deviation. @return [count, D]
Tensor directions(AttentionFlow& flow, PartValues values, int64_t count, double deviation) {
    std::vector<float> rows = values.flag("orthogonal") ? orthogonalRows(count, flow.width, values.seed())
                                                        : gaussianRows(count, flow.width, 1, values.seed());
    for (float& number : rows) number *= static_cast<float>(deviation);
    return flow.constant("normaliser.w", {count, flow.width}, std::move(rows));
}

/// |x|^2 of the last axis. @return [..., 1]
Tensor squaredLength(Tensor x) { return sumOver(unary(x, Unary::Square), -1); }

/// log(1 / (1 + exp(-x))) without overflow.
Tensor logSigmoid(Tensor x) {
    const Tensor zero = fill(*x.graph, {1, 1}, 0);
    const Tensor rest = affine(unary(unary(unary(x, Unary::Absolute), Unary::Negate), Unary::Exponential), 1, 1);
    return minus(binary(x, zero, Binary::Minimum), unary(rest, Unary::Logarithm));
}

/// The gate of each token: how much of the earlier state it keeps. @return its argument [B,H,S,1], in a step of its own
/// tokens
Tensor gateOf(AttentionFlow& flow) {
    const Tensor k = flow.isStep() ? flow.newKeys : flow.k;
    const Tensor argument =
        reshape(numberByHead(flow, "normaliser.w_g", flow.keyStream, k), {flow.batch, flow.heads, k.shape()[2], 1});
    return plus(argument, flow.parameter("normaliser.b_g", {flow.heads, 1, 1}, {InitialValue::Kind::One}));
}

void buildRandomFeatures(AttentionFlow& flow, PartValues values) {
    const int64_t half = values.integer("features") / 2;
    const double sigma = values.real("sigma");
    const bool isUnit = values.flag("unit"), isGated = values.flag("gate"), isLearned = values.flag("learned");
    const Tensor w = directions(flow, values, half, 1 / sigma);
    // Directions r w are those of w for rows times r.
    const Tensor scale =
        isLearned ? flow.parameter("normaliser.r", {flow.heads, 1, flow.width}, {InitialValue::Kind::One}) : Tensor();
    const auto scaled = [&](Tensor x) { return isLearned ? times(x, scale) : x; };
    const auto lengthened = [&](Tensor x) { return scaled(isUnit ? unitRows(x) : x); };
    const auto features = [&](Tensor x) {
        const Tensor angle = product(x, w);
        return affine(beside(unary(angle, Unary::Sine), unary(angle, Unary::Cosine)),
                      1 / std::sqrt(static_cast<double>(half)), 0);
    };
    // S_t = g_t S_{t-1} + (1 - g_t) b_t v_t^T counts key s by (1 - g_s) times the product of all later gates.
    const Tensor gate = isGated ? gateOf(flow) : Tensor();
    const auto logGate = [&](bool areNew) {
        const Tensor argument = areNew || !flow.isStep() ? gate : flow.remember("gate", gate),
                     kept = logSigmoid(argument);
        const Tensor total = areNew ? runningTotal(flow, "gates", kept) : cumulativeSum(kept, 2);
        return minus(logSigmoid(affine(argument, -1, 0)), total);
    };
    mix(flow, {.factors = features(lengthened(flow.q)), .exponents = {}}, [&](Tensor k, bool areNew) {
        Tensor logWeight;
        if (!isUnit || isLearned) logWeight = affine(squaredLength(lengthened(k)), 0.5 / (sigma * sigma), 0);
        if (isGated) logWeight = logWeight ? plus(logWeight, logGate(areNew)) : logGate(areNew);
        return Features{.factors = features(lengthened(k)), .exponents = logWeight, .decays = isGated};
    });
    if (isGated && !flow.isStep()) flow.show("rfa.gate", permute(unary(gate, Unary::Sigmoid), {0, 1, 3, 2}));
}
void referenceRandomFeatures(ReferenceFlow& flow, PartValues values) {
    const int64_t half = values.integer("features") / 2;
    const double sigma = values.real("sigma");
    const bool isUnit = values.flag("unit"), isGated = values.flag("gate"), isLearned = values.flag("learned");
    const Dense& w = flow.parameters.at("normaliser.w");
    const auto lengthened = [&](const double* x, int64_t head) {
        std::vector<double> result(x, x + flow.width);
        const double length = isUnit ? std::sqrt(dot(result, result) + 1e-12) : 1;
        for (int64_t d = 0; d < flow.width; ++d)
            result[static_cast<size_t>(d)] *=
                (isLearned ? flow.parameters.at("normaliser.r").at(head, 0, d) : 1) / length;
        return result;
    };
    const auto features = [&](const double* x, int64_t head) {
        std::vector<double> result(static_cast<size_t>(2 * half));
        const std::vector<double> row = lengthened(x, head);
        for (int64_t f = 0; f < half; ++f) {
            double angle = 0;
            for (int64_t d = 0; d < flow.width; ++d) angle += w.at(f, d) * row[static_cast<size_t>(d)];
            result[static_cast<size_t>(f)] = std::sin(angle) / std::sqrt(static_cast<double>(half));
            result[static_cast<size_t>(half + f)] = std::cos(angle) / std::sqrt(static_cast<double>(half));
        }
        return result;
    };
    Dense logWeights({flow.heads, flow.keys});
    for (int64_t h = 0; h < flow.heads; ++h) {
        double total = 0;
        for (int64_t s = 0; s < flow.keys; ++s) {
            const double* key = &flow.k.data[static_cast<size_t>((h * flow.keys + s) * flow.width)];
            if (!isUnit || isLearned) {
                const std::vector<double> row = lengthened(key, h);
                logWeights.at(h, s) = dot(row, row) / (2 * sigma * sigma);
            }
            if (!isGated) continue;
            const Dense& wg = flow.parameters.at("normaliser.w_g");
            double argument = flow.parameters.at("normaliser.b_g").at(h, 0, 0);
            for (int64_t d = 0; d < flow.width; ++d) argument += wg.at(h, 0, d) * key[d];
            total -= std::log1p(std::exp(-argument));
            logWeights.at(h, s) -= std::log1p(std::exp(argument)) + total;
        }
    }
    mixReference(
        flow, features,
        [](std::span<const double> a, std::span<const double> b) { return Weight{.factor = dot(a, b)}; },
        [&](int64_t h, int64_t s) { return logWeights.at(h, s); });
}

// FAVOR+ -------------------------------------------------------------------------------------------------------------

void buildPerformer(AttentionFlow& flow, PartValues values) {
    const int64_t count = values.integer("features");
    const Tensor w = directions(flow, values, count, 1);
    const double scale = std::pow(static_cast<double>(flow.width), -0.25);
    const auto features = [&](Tensor x, bool = false) {
        const Tensor scaled = affine(x, scale, 0);
        const Tensor exponents = minus(product(scaled, w), affine(squaredLength(scaled), 0.5, 0));
        return Features{.factors = {}, .exponents = exponents};
    };
    mix(flow, features(flow.q), features);
}
void referencePerformer(ReferenceFlow& flow, PartValues values) {
    const int64_t count = values.integer("features");
    const Dense& w = flow.parameters.at("normaliser.w");
    const double scale = std::pow(static_cast<double>(flow.width), -0.25);
    mixReference(
        flow,
        [&](const double* x, int64_t) {
            std::vector<double> result(static_cast<size_t>(count));
            for (int64_t f = 0; f < count; ++f)
                for (int64_t d = 0; d < flow.width; ++d)
                    result[static_cast<size_t>(f)] += w.at(f, d) * x[d] * scale - x[d] * x[d] * scale * scale / 2;
            return result;
        },
        sumOfExponentials);
}

} // namespace

const Part kLinearNormaliser{
    .id = "linear",
    .slot = Slot::Normaliser,
    .title = "Linear attention",
    .idea = "The weight of a key is a dot product of positive features instead of an exponential, so the sums over "
            "keys can be computed once for all queries. Under a causal mask it is a recurrent network whose state is "
            "a matrix.",
    .formula =
        "z_i = phi(q_i)^T S_i / (phi(q_i) . n_i), S_i = sum_j phi(k_j) v_j^T, n_i = sum_j phi(k_j), phi = elu + 1",
    .source = {"Katharopoulos et al.", 2020,
               "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention", "section 3.2 to 3.4",
               "arXiv:2006.16236"},
    .time = "O(T D^2)",
    .memory = "O(T D + D^2)",
    .hooks = {{Stage::Normalise, buildLinear, referenceLinear}},
    .mix = {.masks = MaskSupport::FullOrCausal, .usesScores = false, .keepsState = true, .pairs = noPairs}};

const Part kRandomFeatureNormaliser{
    .id = "rfa",
    .slot = Slot::Normaliser,
    .title = "Random feature attention",
    .idea = "Sines and cosines of random projections approximate the Gaussian kernel, and a factor for each key turns "
            "this kernel into the softmax's exponential: of unit vectors, it is the same for all. A gate can let the "
            "state forget, and each head can learn how large the directions are in each feature. The gate reads the "
            "layer's input; where no model gives it, as in the Playground, the key stands for it.",
    .formula = "phi(x) = [sin w.x, cos w.x] / sqrt(m), w = r e, e ~ N(0, sigma^-2 I), r = 1 or learned; "
               "keys times exp(|r k|^2 / (2 sigma^2)); gate: S_t = g_t S_{t-1} + (1 - g_t) phi(k_t) v_t^T, g_t = "
               "sigmoid(w_g . x_t + b_g)",
    .source = {"Peng et al.", 2021, "Random Feature Attention", "section 3.1 to 3.3", "arXiv:2103.02143"},
    .params = kRandomFeatureParams,
    .time = "O(T m D)",
    .memory = "O(T m + m D)",
    .hooks = {{Stage::Normalise, buildRandomFeatures, referenceRandomFeatures}},
    .mix = {.masks = MaskSupport::FullOrCausal,
            .usesScores = false,
            .approximatesSoftmax = true,
            .keepsState = true,
            .pairs = noPairs},
    .isRandom = true};

const Part kPerformerNormaliser{
    .id = "favor",
    .slot = Slot::Normaliser,
    .title = "FAVOR+ (Performer)",
    .idea = "The dot product of positive random features is the softmax's exponential on average, so no weight is "
            "ever negative. Orthogonal directions lower the variance. The largest visible exponent of each feature is "
            "taken "
            "out before the exponential, as in softmax, which changes no result.",
    .formula = "phi(x) = exp(w.x' - |x'|^2 / 2) / sqrt(m), x' = x D^(-1/4), w orthogonal",
    .source = {"Choromanski et al.", 2021, "Rethinking Attention with Performers", "section 2.3 and 2.4",
               "arXiv:2009.14794"},
    .params = kPerformerParams,
    .time = "O(T m D)",
    .memory = "O(T m + m D)",
    .hooks = {{Stage::Normalise, buildPerformer, referencePerformer}},
    .mix = {.masks = MaskSupport::FullOrCausal,
            .usesScores = false,
            .approximatesSoftmax = true,
            .keepsState = true,
            .pairs = noPairs},
    .isRandom = true};

} // namespace attn
