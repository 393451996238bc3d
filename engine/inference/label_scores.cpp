#include "engine/inference/label_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {
namespace {

double share(int64_t part, int64_t all) { return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all); }

double pearsonOf(std::span<const double> a, std::span<const double> b) {
    const auto mean = [](std::span<const double> x) {
        return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    };
    const double meanA = mean(a), meanB = mean(b);
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        ab += (a[i] - meanA) * (b[i] - meanB);
        aa += (a[i] - meanA) * (a[i] - meanA);
        bb += (b[i] - meanB) * (b[i] - meanB);
    }
    return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : std::numeric_limits<double>::quiet_NaN();
}

/// The rank of each number, from 1. Equal numbers share the mean of their ranks.
std::vector<double> ranksOf(std::span<const double> x) {
    std::vector<size_t> order(x.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t a, size_t b) { return x[a] < x[b]; });
    std::vector<double> ranks(x.size());
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
        while (end < order.size() && x[order[end]] == x[order[first]]) ++end;
        for (size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + 1 + end) / 2;
    }
    return ranks;
}

NumberScore numberScore(std::span<const double> said, std::span<const double> right) {
    NumberScore score;
    for (size_t i = 0; i < said.size(); ++i) {
        const double error = said[i] - right[i];
        score.squaredError += error * error / static_cast<double>(said.size());
        score.absoluteError += std::abs(error) / static_cast<double>(said.size());
    }
    score.pearson = pearsonOf(said, right);
    score.spearman = pearsonOf(ranksOf(said), ranksOf(right));
    return score;
}

/// log(1 + exp(x)) without overflow.
double softPlus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// The loss of one example. @param said, right [labels]
double lossOf(ClassActivation activation, std::span<const float> said, std::span<const double> right) {
    double loss = 0;
    if (activation == ClassActivation::Softmax) {
        const double largest = static_cast<double>(*std::ranges::max_element(said));
        double sum = 0, own = 0;
        for (size_t i = 0; i < said.size(); ++i) {
            sum += std::exp(static_cast<double>(said[i]) - largest);
            if (right[i] > 0) own += right[i] * static_cast<double>(said[i]); // another class may be barred
        }
        return largest + std::log(sum) - own;
    }
    for (size_t i = 0; i < said.size(); ++i) {
        const auto x = static_cast<double>(said[i]);
        loss += activation == ClassActivation::Sigmoid ? softPlus(x) - right[i] * x : (x - right[i]) * (x - right[i]);
    }
    return loss / static_cast<double>(said.size());
}

} // namespace

double LabelScore::precision() const { return share(right, said); }
double LabelScore::recall() const { return share(right, there); }
double LabelScore::f1() const { return share(2 * right, said + there); }

LabelScore LabelScores::micro() const {
    LabelScore sum;
    for (const LabelScore& each : labels) {
        sum.said += each.said;
        sum.right += each.right;
        sum.there += each.there;
    }
    return sum;
}

LabelScores::Means LabelScores::macro() const {
    Means means;
    const auto count = static_cast<double>(labels.size());
    for (const LabelScore& each : labels) {
        means.precision += each.precision() / count;
        means.recall += each.recall() / count;
        means.f1 += each.f1() / count;
    }
    return means;
}

double meanOf(std::span<const NumberScore> numbers, double NumberScore::*value) {
    double sum = 0;
    int count = 0;
    for (const NumberScore& each : numbers)
        if (!std::isnan(each.*value)) {
            sum += each.*value;
            ++count;
        }
    return sum / count;
}

LabelScores labelScores(ClassActivation activation, int64_t labels, std::span<const float> logits,
                        std::span<const double> targets) {
    const auto width = static_cast<size_t>(labels), examples = logits.size() / width;
    LabelScores scores{.activation = activation, .examples = static_cast<int64_t>(examples)};
    if (activation != ClassActivation::None) scores.labels.resize(width);
    int64_t exact = 0;
    for (size_t row = 0; row < examples; ++row) {
        const auto said = logits.subspan(row * width, width);
        const auto right = targets.subspan(row * width, width);
        scores.loss += lossOf(activation, said, right) / static_cast<double>(examples);
        if (activation == ClassActivation::None) continue;
        const auto best = static_cast<size_t>(std::ranges::max_element(said) - said.begin());
        bool isExact = true;
        for (size_t label = 0; label < width; ++label) {
            const bool isSaid = activation == ClassActivation::Softmax ? label == best : said[label] >= 0,
                       isThere = right[label] == 1;
            LabelScore& score = scores.labels[label];
            score.said += isSaid ? 1 : 0;
            score.there += isThere ? 1 : 0;
            score.right += isSaid && isThere ? 1 : 0;
            isExact = isExact && isSaid == isThere;
        }
        exact += isExact ? 1 : 0;
    }
    scores.exactMatch = share(exact, scores.examples);
    for (size_t label = 0; label < width && activation == ClassActivation::None; ++label) {
        std::vector<double> said, right;
        for (size_t row = 0; row < examples; ++row) {
            said.push_back(static_cast<double>(logits[row * width + label]));
            right.push_back(targets[row * width + label]);
        }
        scores.numbers.push_back(numberScore(said, right));
    }
    return scores;
}

} // namespace attn
