#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/core/random_rows.h"
#include "engine/core/rng.h"
#include "engine/ops/bucket_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 3> kReformerParams{
    {{"chunk", "Chunk", "Tokens in a chunk, a multiple of 8; a query meets the keys of its bucket in two chunks",
      Param::Kind::Integer, 8, 1024, 8, 32},
     {"rounds", "Rounds", "Number of hashes; a pair meets if any of them puts both in one bucket", Param::Kind::Integer,
      1, 8, 1, 2},
     {"seed", "Seed", "Seed of the random rotations", Param::Kind::Integer, 0, 1e6, 1, 0}}};

std::optional<PartProblem> checkChunk(PartValues values, int64_t) {
    const int chunk = values.integer("chunk");
    if (chunk % 8 == 0) return {};
    return PartProblem{.sentence = fmt::format("a chunk of {} tokens is not a multiple of 8", chunk),
                       .param = "chunk",
                       .value = std::min(1024.0, 8.0 * (chunk / 8 + 1))};
}

/// How many chunks and buckets a text has. There are two buckets to a chunk, so that a chunk holds two buckets on
/// average. Of many buckets, two hashes name one: the cost of hashing then grows with the root of their number.
struct Hashing {
    int64_t chunk, chunks, rounds;
    std::vector<int64_t> halves; ///< of the buckets of each hash that together name one
    uint64_t seed;

    Hashing(PartValues values, int64_t tokens)
        : chunk(values.integer("chunk")), chunks((tokens + chunk - 1) / chunk),
          rounds(values.integer("rounds")), halves{chunks}, seed(values.seed()) {
        if (chunks <= chunk) return;
        const auto first = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(chunks) / 2)));
        halves = {first, (chunks + 2 * first - 1) / (2 * first)};
    }
    /// A number for each bucket and chunk: the same, or one more, where a query meets a key.
    double codeOf(double bucket, double place) const {
        return bucket * static_cast<double>(chunks + 1) + std::floor(place / static_cast<double>(chunk));
    }
    static std::string nameOf(int64_t round, size_t hash) {
        return fmt::format("normaliser.rotation{}_{}", round, hash);
    }
    /// Directions of a hash, then their opposites. @return [H, 2 half, D]
    std::vector<float> directions(int64_t round, size_t hash, int64_t heads, int64_t width) const {
        std::vector<float> all;
        const int64_t half = halves[hash];
        for (int64_t head = 0; head < heads; ++head) {
            const auto own =
                gaussianRows(half, width, 1, streamSeed(seed, fmt::format("{} of head {}", nameOf(round, hash), head)));
            all.insert(all.end(), own.begin(), own.end());
            std::ranges::transform(own, std::back_inserter(all), std::negate{});
        }
        return all;
    }
};

/// The bucket of each token in one round. @param q [B,H,T,D], of any length  @return [B H,1,T]
Tensor bucketOf(AttentionFlow& flow, const Hashing& hashing, Tensor q, int64_t round) {
    Tensor bucket;
    for (size_t hash = 0; hash < hashing.halves.size(); ++hash) {
        const int64_t buckets = 2 * hashing.halves[hash];
        const Tensor directions =
            flow.constant(Hashing::nameOf(round, hash), {flow.heads, buckets, flow.width},
                          [=, H = flow.heads, D = flow.width] { return hashing.directions(round, hash, H, D); });
        const Tensor own = reshape(toReal(argmax(product(q, directions))), {flow.batch * flow.heads, 1, flow.keys});
        bucket = bucket ? plus(affine(bucket, static_cast<double>(buckets), 0), own) : own;
    }
    return bucket;
}

/// Sets flow.pattern, which the output does without. @param code [B,H,R,T]
void effectivePattern(AttentionFlow& flow, Tensor code, int64_t rounds) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.keys;
    Tensor meets;
    for (int64_t round = 0; round < rounds; ++round) {
        const Tensor of = slice(code, 2, round, 1); // [B,H,1,T]
        const Tensor difference = affine(minus(reshape(of, {B, H, T, 1}), of), 1, -0.5);
        const Tensor both = binary(unary(difference, Unary::Absolute), fill(flow.graph, {1, 1}, 1), Binary::Less);
        meets = meets ? binary(meets, both, Binary::Maximum) : both;
    }
    if (flow.mask) meets = times(meets, flow.mask);
    const Tensor own = flow.byCell("normaliser.own", [](int64_t t, int64_t s) { return t == s ? kOwnPenalty : 0; });
    const Tensor scores = minus(affine(product(flow.q, flow.k), flow.scoreScale(), 0), own);
    flow.pattern = softmax(select(meets, scores, fill(flow.graph, {1, 1}, kMasked)));
}

void buildReformer(AttentionFlow& flow, PartValues values) {
    const Hashing hashing(values, flow.keys);
    const int64_t B = flow.batch, H = flow.heads, T = flow.keys, R = hashing.rounds;
    const Tensor fixed = stopGradient(flow.q);
    std::vector<Tensor> rounds;
    for (int64_t round = 0; round < R; ++round) rounds.push_back(bucketOf(flow, hashing, fixed, round));
    const Tensor bucket = R == 1 ? rounds.front() : concatenate(rounds, 1); // [B H,R,T]
    const Tensor order = sortOrder(bucket);                                 // by bucket, and within one by position
    const double share = 1 / static_cast<double>(hashing.chunk);
    const Tensor ofChunk = unary(affine(toReal(inverseOrder(order)), share, share / 2), Unary::Floor);
    const Shape byRound{B, H, R, T};
    const Tensor code = reshape(plus(affine(bucket, static_cast<double>(hashing.chunks + 1), 0), ofChunk), byRound);
    const Tensor places = reshape(order, byRound), whole = toInteger(code);
    flow.show("lsh.buckets",
              reshape(take(reshape(bucket, {B * H * R, T, 1}), reshape(order, {B * H * R, T})), byRound));
    flow.show("lsh.order", toReal(places));
    effectivePattern(flow, code, R);
    // Otherwise z is pattern . v. The keys are formed last, where the numbers of the hashes have lain before.
    if (flow.mayFuse)
        flow.z = bucketAttention(
            {.q = flow.q, .k = unitRows(flow.q), .v = flow.v, .order = places, .code = whole, .chunk = hashing.chunk},
            flow.scoreScale(), flow.isCausal());
}

/// The codes of all tokens of a head in one round.
std::vector<double> referenceCodes(const ReferenceFlow& flow, const Hashing& hashing, int64_t head, int64_t round) {
    const auto T = static_cast<size_t>(flow.keys);
    std::vector<double> bucket(T, 0), code(T);
    for (size_t hash = 0; hash < hashing.halves.size(); ++hash) {
        const Dense& directions = flow.parameters.at(Hashing::nameOf(round, hash));
        for (size_t t = 0; t < T; ++t) {
            int64_t best = 0;
            double largest = -1e300;
            for (int64_t b = 0; b < 2 * hashing.halves[hash]; ++b) {
                double along = 0;
                for (int64_t d = 0; d < flow.width; ++d) along += flow.k.at(head, t, d) * directions.at(head, b, d);
                if (along > largest) best = b;
                largest = std::max(largest, along);
            }
            bucket[t] = bucket[t] * static_cast<double>(2 * hashing.halves[hash]) + static_cast<double>(best);
        }
    }
    std::vector<size_t> order(T);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t token) { return bucket[token]; });
    for (size_t place = 0; place < T; ++place)
        code[order[place]] = hashing.codeOf(bucket[order[place]], static_cast<double>(place));
    return code;
}

void referenceReformer(ReferenceFlow& flow, PartValues values) {
    const Hashing hashing(values, flow.keys);
    flow.pattern = Dense({flow.heads, flow.queries, flow.keys});
    for (int64_t h = 0; h < flow.heads; ++h) {
        std::vector<std::vector<double>> codes;
        for (int64_t round = 0; round < hashing.rounds; ++round)
            codes.push_back(referenceCodes(flow, hashing, h, round));
        for (int64_t t = 0; t < flow.queries; ++t) {
            std::map<int64_t, double> scores; // of the keys that the query meets
            for (int64_t s = 0; s < flow.keys; ++s) {
                const bool meets = std::ranges::any_of(codes, [&](const std::vector<double>& code) {
                    const double difference = code[static_cast<size_t>(t)] - code[static_cast<size_t>(s)];
                    return difference == 0 || difference == 1;
                });
                if (!meets || !flow.isVisible(h, t, s)) continue;
                double score = 0;
                for (int64_t d = 0; d < flow.width; ++d) score += flow.q.at(h, t, d) * flow.k.at(h, s, d);
                scores[s] = score * flow.scoreScale() - (s == t ? kOwnPenalty : 0);
            }
            double maximum = kMasked, sum = 0;
            for (const auto& [s, score] : scores) maximum = std::max(maximum, score);
            for (const auto& [s, score] : scores) sum += flow.pattern.at(h, t, s) = std::exp(score - maximum);
            for (const auto& [s, score] : scores) flow.pattern.at(h, t, s) /= sum;
        }
    }
}

/// Two chunks in every round, of which a causal query sees one and a half on average.
double reformerPairs(PartValues values, int64_t tokens, bool isCausal) {
    const double T = static_cast<double>(tokens);
    return T *
           std::min(values.real("rounds") * values.real("chunk") * (isCausal ? 1.5 : 2.0), isCausal ? (T + 1) / 2 : T);
}

} // namespace

const Part kReformerNormaliser{
    .id = "reformer",
    .slot = Slot::Normaliser,
    .title = "Hash buckets (Reformer)",
    .idea = "Random rotations hash every token, so that similar ones tend to share a bucket. The tokens are sorted by "
            "bucket and cut into chunks, and a query meets the keys of its bucket in its own chunk and the one before; "
            "several rounds of hashing miss fewer matches.",
    .formula = "h(x) = argmax [x R; -x R]; z_i = softmax over j in P_i of q_i . k_j / sqrt(D), less 256 where j = i; "
               "P_i = union over rounds of {j : h(k_j) = h(k_i), chunk(i) - chunk(j) in {0, 1}}",
    .source = {"Kitaev et al.", 2020, "Reformer: The Efficient Transformer", "section 2 and appendix A",
               "arXiv:2001.04451"},
    .params = kReformerParams,
    .time = "O(rounds T chunk D)",
    .memory = "O(T D + rounds T)",
    .caution = "As in the paper, later tokens move the borders of chunks: even under a causal mask, they decide which "
               "earlier keys of its bucket a query meets. The rotations stay the same in all steps and sequences of a "
               "batch, while the paper draws new ones.",
    .hooks = {{Stage::Normalise, buildReformer, referenceReformer}},
    .mix = {.masks = MaskSupport::FullOrCausal,
            .usesScores = false,
            .needsSharedQueryKey = true,
            .pairs = reformerPairs},
    .checkValues = checkChunk,
    .needsEqualLengths = true,
    .isRandom = true,
    .readsLaterRows = true};

} // namespace attn
