#include "engine/inference/sampling.h"

#include "engine/core/error.h"
#include "engine/core/rng.h"
#include "engine/host/rows.h"
#include "engine/inference/finite_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace attn {
namespace {

std::vector<float> penalised(std::span<const float> logits, float penalty, std::span<const int> seen) {
    std::vector<float> result(logits.begin(), logits.end());
    if (penalty == 1) return result;
    std::vector<bool> done(logits.size(), false);
    for (int token : seen) {
        const auto index = static_cast<size_t>(token);
        if (token < 0 || index >= logits.size() || done[index]) continue;
        done[index] = true;
        result[index] = result[index] > 0 ? result[index] / penalty : result[index] * penalty;
    }
    return result;
}

/// All tokens by falling probability, filtered ones (probability 0) last in order of raw logit.
std::vector<Candidate> distribution(std::span<const float> logits, const Sampling& sampling, std::span<const int> seen,
                                    const TokenLimits& limits) {
    requireLogits(logits, "sampling");
    if (!sampling.greedy && !(sampling.temperature > 0))
        throw Error({.what = fmt::format("temperature {} must be above 0", sampling.temperature),
                     .where = "sampling",
                     .hint = "use greedy for the most probable token"});

    std::vector<float> adjusted = penalised(logits, sampling.repetitionPenalty, seen);
    limits.apply(std::span(adjusted));
    if (!limits.empty() && std::ranges::none_of(adjusted, [](float x) { return x > -INFINITY; })) refuseAllBarred();
    std::vector<std::pair<float, int>> order(logits.size()); // (-logit, token)
    for (size_t i = 0; i < order.size(); ++i) order[i] = {-adjusted[i], static_cast<int>(i)};
    std::ranges::sort(order);

    const double temperature = sampling.greedy ? 1.0 : sampling.temperature;
    const double top = -order.front().first;
    double total = 0;
    std::vector<Candidate> all(order.size());
    std::vector<double> mass(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        const auto [negative, token] = order[i];
        all[i] = {.token = token, .logit = logits[static_cast<size_t>(token)]};
        total += mass[i] = std::exp((-static_cast<double>(negative) - top) / temperature);
    }

    size_t kept = all.size();
    if (!sampling.greedy) {
        const auto keep = [&](size_t count, SamplingFilter filter) {
            for (size_t i = count; i < kept; ++i) all[i].filter = filter;
            kept = count;
        };
        if (sampling.topK > 0) keep(std::min(kept, static_cast<size_t>(sampling.topK)), SamplingFilter::TopK);
        total = std::accumulate(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(kept), 0.0);
        if (sampling.topP < 1) {
            double cumulative = 0;
            size_t count = 0;
            do cumulative += mass[count++];
            while (count < kept && cumulative < sampling.topP * total);
            keep(count, SamplingFilter::TopP);
        }
        size_t count = kept;
        while (count > 1 && mass[count - 1] < sampling.minP * mass[0]) --count;
        keep(count, SamplingFilter::MinP);
        total = std::accumulate(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(kept), 0.0);
    }
    for (size_t i = 0; i < kept; ++i) all[i].probability = static_cast<float>(mass[i] / total);
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
    return all;
}

} // namespace

Sampling samplingOf(const GenerationRules::Choice& choice) {
    return {.greedy = choice.greedy,
            .temperature = choice.temperature,
            .topK = choice.topK,
            .topP = choice.topP,
            .minP = choice.minP,
            .repetitionPenalty = choice.repetitionPenalty};
}

std::span<const Param> samplingParams() {
    static constexpr std::array kParams{
        Param{"temperature", "Temperature", "Below 1 sharpens the distribution, above 1 flattens it", Param::Kind::Real,
              0.05, 3, 0.05, 1},
        Param{"top_k", "Top-k", "Draw only from the k most probable tokens; 0 means all", Param::Kind::Integer, 0, 200,
              1, 0},
        Param{"top_p", "Top-p", "Draw only from the smallest set whose probabilities reach p", Param::Kind::Real, 0.05,
              1, 0.01, 1},
        Param{"min_p", "Min-p", "Drop tokens less probable than this fraction of the most probable token",
              Param::Kind::Real, 0, 1, 0.01, 0},
        Param{"repetition_penalty", "Repetition penalty", "Above 1 makes tokens that already occurred less likely",
              Param::Kind::Real, 1, 2, 0.01, 1},
    };
    return kParams;
}

std::vector<Candidate> rankCandidates(std::span<const float> logits, const Sampling& sampling,
                                      std::span<const int> seen, int limit, const TokenLimits& limits) {
    std::vector<Candidate> all = distribution(logits, sampling, seen, limits);
    if (limit >= 0 && static_cast<size_t>(limit) < all.size()) all.resize(static_cast<size_t>(limit));
    return all;
}

Candidate sampleToken(std::span<const float> logits, const Sampling& sampling, std::span<const int> seen,
                      uint64_t position, const TokenLimits& limits) {
    if (sampling.greedy && sampling.repetitionPenalty == 1 && limits.empty()) { // the common case: no sorting
        requireLogits(logits, "sampling");
        const auto size = static_cast<int64_t>(logits.size());
        const int64_t best = host::columnOfLargest(size, logits.data());
        const float most = logits[static_cast<size_t>(best)];
        return {static_cast<int>(best), most,
                static_cast<float>(1 / host::sumOfExponentials(size, most, logits.data()))};
    }
    const std::vector<Candidate> all = distribution(logits, sampling, seen, limits);
    if (sampling.greedy) return all.front();
    const double draw = uniform(sampling.seed, position);
    double cumulative = 0;
    for (const Candidate& candidate : all)
        if ((cumulative += candidate.probability) > draw) return candidate;
    return all.front(); // rounding can leave the sum just below the random number
}

} // namespace attn
