#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/normaliser/normalisers.h"
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

using Features = std::function<std::vector<double>(const double* x)>;

void mixReference(ReferenceFlow& flow, const Features& ofQuery, const Features& ofKey) {
    const auto all = [&](const Dense& x, int64_t rows, const Features& features) {
        std::vector<std::vector<double>> result;
        for (int64_t row = 0; row < flow.heads * rows; ++row)
            result.push_back(features(&x.data[static_cast<size_t>(row * flow.width)]));
        return result;
    };
    const auto a = all(flow.q, flow.queries, ofQuery), b = all(flow.k, flow.keys, ofKey);
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            return dot(a[static_cast<size_t>(h * flow.queries + t)], b[static_cast<size_t>(h * flow.keys + s)]);
        },
        true);
}

// Linear attention
// -----------------------------------------------------------------------------------------------------

void buildLinear(AttentionFlow& flow, PartValues) {
    const auto features = [](Tensor x) { return unary(x, Unary::EluPlusOne); };
    mixFeatures(flow, features(flow.q), features, true);
}
void referenceLinear(ReferenceFlow& flow, PartValues) {
    const Features eluPlusOne = [&](const double* x) {
        std::vector<double> result(x, x + flow.width);
        for (double& value : result) value = value > 0 ? value + 1 : std::exp(value);
        return result;
    };
    mixReference(flow, eluPlusOne, eluPlusOne);
}

// Random features
// ------------------------------------------------------------------------------------------------------

constexpr Param kFeatures{
    "features", "Features", "More features approximate the softmax better", Param::Kind::Integer, 4, 4096, 4, 64};
constexpr Param kSeed{"seed", "Seed", "Seed of the random directions", Param::Kind::Integer, 0, 1e6, 1, 0};
constexpr std::array<Param, 3> kRandomFeatureParams{
    {kFeatures,
     {"sigma", "Sigma",
      "Approximates the softmax of q . k / sigma^2; the fourth root of D gives the scaled dot product",
      Param::Kind::Real, 0.5, 16, 0.1, 2},
     kSeed}};
constexpr std::array<Param, 2> kPerformerParams{{kFeatures, kSeed}};

/// |x|^2 of the last axis. @return [..., 1]
Tensor squaredLength(Tensor x) { return sumOver(unary(x, Unary::Square), -1); }

void buildRandomFeatures(AttentionFlow& flow, PartValues values) {
    const int64_t count = values.integer("features");
    const double sigma = values.real("sigma");
    const Tensor w = flow.constant("normaliser.w", {count / 2, flow.width},
                                   gaussianRows(count / 2, flow.width, 1 / sigma, values.seed()));
    const double scale = 1 / std::sqrt(static_cast<double>(count / 2));
    const auto features = [&](Tensor x) {
        const Tensor angle = product(x, w);
        return affine(beside(unary(angle, Unary::Sine), unary(angle, Unary::Cosine)), scale, 0);
    };
    const auto ofKeys = [&](Tensor k) {
        return times(features(k), unary(affine(squaredLength(k), 0.5 / (sigma * sigma), 0), Unary::Exponential));
    };
    mixFeatures(flow, features(flow.q), ofKeys, true);
}
void referenceRandomFeatures(ReferenceFlow& flow, PartValues values) {
    const int64_t half = values.integer("features") / 2;
    const double sigma = values.real("sigma");
    const Dense& w = flow.parameters.at("normaliser.w");
    const auto features = [&, half](const double* x, bool isKey) {
        std::vector<double> result(static_cast<size_t>(2 * half));
        double squares = 0;
        for (int64_t d = 0; d < flow.width; ++d) squares += x[d] * x[d];
        const double weight = isKey ? std::exp(squares / (2 * sigma * sigma)) : 1;
        for (int64_t f = 0; f < half; ++f) {
            double angle = 0;
            for (int64_t d = 0; d < flow.width; ++d) angle += w.at(f, d) * x[d];
            result[static_cast<size_t>(f)] = weight * std::sin(angle) / std::sqrt(static_cast<double>(half));
            result[static_cast<size_t>(half + f)] = weight * std::cos(angle) / std::sqrt(static_cast<double>(half));
        }
        return result;
    };
    mixReference(
        flow, [&](const double* x) { return features(x, false); }, [&](const double* x) { return features(x, true); });
}

// FAVOR+
// ---------------------------------------------------------------------------------------------------------------

void buildPerformer(AttentionFlow& flow, PartValues values) {
    const int64_t count = values.integer("features");
    const Tensor w =
        flow.constant("normaliser.w", {count, flow.width}, orthogonalRows(count, flow.width, values.seed()));
    const double scale = std::pow(static_cast<double>(flow.width), -0.25);
    const auto features = [&](Tensor x) {
        const Tensor scaled = affine(x, scale, 0);
        const Tensor exponent = minus(product(scaled, w), affine(squaredLength(scaled), 0.5, 0));
        return affine(unary(exponent, Unary::Exponential), 1 / std::sqrt(static_cast<double>(count)), 0);
    };
    mixFeatures(flow, features(flow.q), features, true);
}
void referencePerformer(ReferenceFlow& flow, PartValues values) {
    const int64_t count = values.integer("features");
    const Dense& w = flow.parameters.at("normaliser.w");
    const double scale = std::pow(static_cast<double>(flow.width), -0.25);
    const Features features = [&](const double* x) {
        std::vector<double> result(static_cast<size_t>(count));
        for (int64_t f = 0; f < count; ++f) {
            double exponent = 0;
            for (int64_t d = 0; d < flow.width; ++d)
                exponent += w.at(f, d) * x[d] * scale - x[d] * x[d] * scale * scale / 2;
            result[static_cast<size_t>(f)] = std::exp(exponent) / std::sqrt(static_cast<double>(count));
        }
        return result;
    };
    mixReference(flow, features, features);
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
    .masks = MaskSupport::FullOrCausal,
    .usesScores = false,
    .keepsState = true};

const Part kRandomFeatureNormaliser{
    .id = "rfa",
    .slot = Slot::Normaliser,
    .title = "Random feature attention",
    .idea = "Sines and cosines of random projections approximate the Gaussian kernel, and a factor for each key turns "
            "this kernel into the softmax's exponential. More features approximate it better, at a cost linear in the "
            "length.",
    .formula = "phi(x) = [sin w.x, cos w.x] / sqrt(m), w ~ N(0, sigma^-2 I); keys times exp(|k|^2 / (2 sigma^2))",
    .source = {"Peng et al.", 2021, "Random Feature Attention", "section 3.1", "arXiv:2103.02143"},
    .params = kRandomFeatureParams,
    .time = "O(T m D)",
    .memory = "O(T m + m D)",
    .hooks = {{Stage::Normalise, buildRandomFeatures, referenceRandomFeatures}},
    .masks = MaskSupport::FullOrCausal,
    .usesScores = false,
    .approximatesSoftmax = true,
    .isRandom = true,
    .keepsState = true};

const Part kPerformerNormaliser{
    .id = "favor",
    .slot = Slot::Normaliser,
    .title = "FAVOR+ (Performer)",
    .idea = "The dot product of positive random features is the softmax's exponential on average, so no weight is "
            "ever negative. Orthogonal directions lower the variance.",
    .formula = "phi(x) = exp(w.x' - |x'|^2 / 2) / sqrt(m), x' = x D^(-1/4), w orthogonal",
    .source = {"Choromanski et al.", 2021, "Rethinking Attention with Performers", "section 2.3 and 2.4",
               "arXiv:2009.14794"},
    .params = kPerformerParams,
    .time = "O(T m D)",
    .memory = "O(T m + m D)",
    .hooks = {{Stage::Normalise, buildPerformer, referencePerformer}},
    .masks = MaskSupport::FullOrCausal,
    .usesScores = false,
    .approximatesSoftmax = true,
    .isRandom = true,
    .keepsState = true};

} // namespace attn
