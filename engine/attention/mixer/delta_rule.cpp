#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <cmath>
#include <numeric>

// Fast weights that correct what they have stored before they store something new.

namespace attn {
namespace {

using namespace terms;

constexpr int64_t kChunk = 64;
constexpr int64_t kMostShown = int64_t{1} << 22; ///< numbers of all states, or of a pattern

constexpr InitialValue kRateWeights{InitialValue::Kind::Normal, 0.1};

/// DPFP: the products of neighbours in [relu(x), relu(-x)], divided by their sum. @param x [B,H,S,D]  @return
/// [B,H,S,2 D]
Tensor featuresOf(Tensor x) {
    const int64_t count = 2 * x.shape()[-1];
    const Tensor both = unary(beside(x, unary(x, Unary::Negate)), Unary::Relu);
    const Tensor turned = beside(slice(both, -1, count - 1, 1), slice(both, -1, 0, count - 1));
    const Tensor products = times(both, turned);
    return over(products, affine(sumOver(products, -1), 1, 1e-6));
}

/// How much of the correction is stored. @return beta [B,H,S,1]
Tensor rateOf(AttentionFlow& flow, Tensor k) {
    const Tensor w = flow.parameter("mixer.w_beta", {flow.heads, 1, flow.width}, kRateWeights);
    const Tensor b = flow.parameter("mixer.b_beta", {flow.heads, 1, 1}, {InitialValue::Kind::Zero});
    return unary(plus(product(k, w), b), Unary::Sigmoid);
}

/// [n,n], 1 below the diagonal, and on it if `withDiagonal`.
Tensor lower(AttentionFlow& flow, int64_t n, bool withDiagonal) {
    std::vector<float> cells;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) cells.push_back(j < i || (withDiagonal && j == i) ? 1.0f : 0.0f);
    return flow.constant((withDiagonal ? "mixer.lower" : "mixer.below") + std::to_string(n), {n, n}, std::move(cells));
}

/// Of rows that are corrected one after the other, the matrix that turns the uncorrected rows into the corrected ones:
/// (I + diag(beta) below(K K^T))^-1. @param k [...,n,F]  @param beta [...,n,1]  @return [...,n,n]
/// @source Yang et al. 2024, "Parallelizing Linear Transformers with the Delta Rule", arXiv:2406.06484, section 3.2
Tensor correction(AttentionFlow& flow, Tensor k, Tensor beta, int64_t n) {
    Tensor power = affine(times(times(product(k, k), lower(flow, n, false)), beta), -1, 0);
    Tensor result = plus(power, minus(lower(flow, n, true), lower(flow, n, false)));
    for (int64_t reach = 2; reach < n; reach *= 2) { // I + A + A^2 + ... + A^(n-1), as A^n = 0
        power = batchedMatmul(power, power);
        result = plus(result, batchedMatmul(result, power));
    }
    return result;
}

/// Rows of numbers cut into chunks, the last of which is filled up with zeros.
struct Chunks {
    int64_t sequences, rows, length, count;

    Chunks(int64_t sequences_, int64_t rows_)
        : sequences(sequences_), rows(rows_), length(std::min(kChunk, rows_)), count((rows_ + length - 1) / length) {}
    /// @param x [B,H,rows,columns]  @return [BH,count,length,columns]
    Tensor of(Tensor x) const {
        const int64_t columns = x.shape()[3], all = count * length;
        return reshape(pad(reshape(x, {sequences, rows, columns}), 1, 0, all - rows),
                       {sequences, count, length, columns});
    }
    /// One chunk. @param x as of of()  @return [BH,length,columns]
    static Tensor at(Tensor x, int64_t chunk) {
        return reshape(slice(x, 1, chunk, 1), {x.shape()[0], x.shape()[2], x.shape()[3]});
    }
};

/// Sets flow.pattern: how much of each value the queries read. x = w + x A is solved from the last chunk of keys to the
/// first, where w are the products of features and A corrects a key by an earlier one.
void showPattern(AttentionFlow& flow, Tensor q) {
    const int64_t BH = flow.batch * flow.heads, T = flow.queries, S = flow.keys;
    if (!flow.k || BH * T * S > kMostShown) return;
    const Tensor k = featuresOf(flow.k), beta = rateOf(flow, flow.k);
    Tensor weights = product(q, k);
    if (flow.mask) weights = times(weights, flow.mask);
    const Chunks cut(BH, S);
    const Tensor keys = cut.of(k), rates = cut.of(beta), own = correction(flow, keys, rates, cut.length);
    weights = pad(reshape(weights, {BH, T, S}), 2, 0, cut.count * cut.length - S);
    Tensor solved, laterKeys; // of the chunks after this one: [BH,T,..] and beta k, [BH,..,F]
    for (int64_t chunk = cut.count - 1; chunk >= 0; --chunk) {
        Tensor row = slice(weights, 2, chunk * cut.length, cut.length);
        const Tensor these = Chunks::at(keys, chunk);
        if (solved) row = minus(row, batchedMatmul(solved, product(laterKeys, these)));
        row = batchedMatmul(row, Chunks::at(own, chunk));
        const Tensor rated = times(these, Chunks::at(rates, chunk));
        laterKeys = solved ? concatenate(std::array{rated, laterKeys}, 1) : rated;
        solved = solved ? concatenate(std::array{row, solved}, 2) : row;
    }
    flow.pattern = times(reshape(slice(solved, 2, 0, S), {flow.batch, flow.heads, T, S}), permute(beta, {0, 1, 3, 2}));
    if (!flow.isStep()) flow.show("delta.rates", permute(beta, {0, 1, 3, 2}));
}

void build(AttentionFlow& flow, PartValues) {
    const int64_t BH = flow.batch * flow.heads, T = flow.queries, D = flow.width, F = 2 * D;
    const Tensor keys = flow.isStep() ? flow.newKeys : flow.k, values = flow.isStep() ? flow.newValues : flow.v;
    const Tensor q = featuresOf(flow.q);
    showPattern(flow, q);
    const bool isCausal = flow.isStep() || flow.isCausal();
    const Chunks cut(BH, keys.shape()[2]);
    const Tensor k = cut.of(featuresOf(keys)), v = cut.of(values), beta = cut.of(rateOf(flow, keys));
    const Tensor corrected = correction(flow, k, beta, cut.length);
    Tensor queries, pairs;
    if (isCausal) {
        queries = cut.of(q);
        pairs = times(product(queries, k), lower(flow, cut.length, true));
    }
    Tensor state = flow.isStep() ? flow.state("sums", {BH, F, D}) : fill(flow.graph, {BH, F, D}, 0);
    std::vector<Tensor> rows;
    for (int64_t chunk = 0; chunk < cut.count; ++chunk) {
        const auto of = [&](Tensor x) { return Chunks::at(x, chunk); };
        // u_t = beta_t (v_t - S_{t-1}^T k_t), and S_t = S_{t-1} + k_t u_t^T
        const Tensor wanted = times(minus(of(v), batchedMatmul(of(k), state)), of(beta));
        const Tensor stored = batchedMatmul(of(corrected), wanted);
        if (isCausal) rows.push_back(plus(batchedMatmul(of(pairs), stored), batchedMatmul(of(queries), state)));
        state = plus(state, batchedMatmul(of(k), stored, {.transposeA = true}));
    }
    if (flow.isStep()) flow.setState("sums", state);
    if (isCausal)
        flow.z = reshape(slice(rows.size() == 1 ? rows.front() : concatenate(rows, 1), 1, 0, T),
                         {flow.batch, flow.heads, T, D});
    else // every query reads the last state
        flow.z = batchedMatmul(q, reshape(state, {flow.batch, flow.heads, F, D}));
}

void reference(ReferenceFlow& flow, PartValues) {
    const int64_t D = flow.width, F = 2 * D;
    const Dense &w = flow.parameters.at("mixer.w_beta"), &b = flow.parameters.at("mixer.b_beta");
    const auto featuresOfRow = [&](const Dense& x, int64_t h, int64_t i) {
        std::vector<double> both, result;
        for (const double sign : {1.0, -1.0})
            for (int64_t d = 0; d < D; ++d) both.push_back(std::max(sign * x.at(h, i, d), 0.0));
        for (size_t f = 0; f < both.size(); ++f) result.push_back(both[f] * both[(f + both.size() - 1) % both.size()]);
        const double sum = std::accumulate(result.begin(), result.end(), 1e-6);
        for (double& value : result) value /= sum;
        return result;
    };
    flow.z = Dense({flow.heads, flow.queries, D});
    for (int64_t h = 0; h < flow.heads; ++h) {
        Dense state({F, D});
        const auto read = [&](const std::vector<double>& key, int64_t d) {
            double sum = 0;
            for (int64_t f = 0; f < F; ++f) sum += key[static_cast<size_t>(f)] * state.at(f, d);
            return sum;
        };
        const auto write = [&](int64_t t) {
            const auto query = featuresOfRow(flow.q, h, t);
            for (int64_t d = 0; d < D; ++d) flow.z.at(h, t, d) = read(query, d);
        };
        for (int64_t s = 0; s < flow.keys; ++s) {
            const auto key = featuresOfRow(flow.k, h, s);
            double argument = b.at(h, 0, 0);
            for (int64_t d = 0; d < D; ++d) argument += w.at(h, 0, d) * flow.k.at(h, s, d);
            std::vector<double> stored;
            for (int64_t d = 0; d < D; ++d)
                stored.push_back((flow.v.at(h, s, d) - read(key, d)) / (1 + std::exp(-argument)));
            for (int64_t f = 0; f < F; ++f)
                for (int64_t d = 0; d < D; ++d)
                    state.at(f, d) += key[static_cast<size_t>(f)] * stored[static_cast<size_t>(d)];
            if (flow.isCausal() && s < flow.queries) write(s);
        }
        if (!flow.isCausal())
            for (int64_t t = 0; t < flow.queries; ++t) write(t);
    }
}

} // namespace

const Part kDeltaRuleMixer{
    .id = "delta_rule",
    .slot = Slot::Mixer,
    .title = "Fast weights with the delta rule",
    .idea = "Before it stores a value, the memory reads what it holds for the key and stores only the difference, at a "
            "learned rate. It can therefore replace an old value, which a plain sum cannot. Difference from the paper: "
            "the rate is computed from the key, not from the layer's input.",
    .formula =
        "S_t = S_{t-1} + b_t phi(k_t) (v_t - S_{t-1}^T phi(k_t))^T, z_t = S_t^T phi(q_t), b_t = sigmoid(w . k_t + c), "
        "phi(x)_m = r_m r_{m-1} / sum, r = [relu(x), relu(-x)]",
    .source = {"Schlag et al.", 2021, "Linear Transformers Are Secretly Fast Weight Programmers",
               "sections 4.2, 5.3 and appendix A", "arXiv:2102.11174"},
    .time = "O(T D^2)",
    .memory = "O(T D + D^2)",
    .hooks = {{Stage::Normalise, build, reference}},
    .mix = {.masks = MaskSupport::FullOrCausal,
            .usesScores = false,
            .replacesAttention = true,
            .keepsState = true,
            .pairs = noPairs}};

} // namespace attn
