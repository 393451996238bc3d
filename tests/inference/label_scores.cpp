#include "engine/inference/label_scores.h"
#include "tests/support/catch.h"

#include <cmath>
#include <random>

using namespace attn;

TEST_CASE("label scores: several labels are counted as plain loops count them", "[inference]") {
    std::mt19937 random(7);
    std::normal_distribution<float> draw;
    constexpr size_t kExamples = 50, kLabels = 4;
    std::vector<float> logits(kExamples * kLabels);
    std::vector<double> targets(logits.size());
    for (float& logit : logits) logit = 3 * draw(random);
    for (double& target : targets) target = draw(random) > 0.5f ? 1 : 0;
    for (size_t row = 0; row < kExamples; ++row) targets[row * kLabels + 3] = 0; // a label that is never there
    const LabelScores scores = labelScores(ClassActivation::Sigmoid, kLabels, logits, targets);
    double loss = 0, exact = 0, precision = 0, f1 = 0;
    int everyRight = 0, allSaid = 0, allThere = 0;
    for (size_t row = 0; row < kExamples; ++row) {
        bool same = true;
        for (size_t i = row * kLabels; i < (row + 1) * kLabels; ++i) {
            const double p = 1 / (1 + std::exp(-static_cast<double>(logits[i])));
            loss -= targets[i] == 1 ? std::log(p) : std::log(1 - p);
            same = same && (p >= 0.5) == (targets[i] == 1);
        }
        exact += same ? 1 : 0;
    }
    for (size_t label = 0; label < kLabels; ++label) {
        int right = 0, said = 0, there = 0;
        for (size_t i = label; i < logits.size(); i += kLabels) {
            said += logits[i] >= 0 ? 1 : 0;
            there += targets[i] == 1 ? 1 : 0;
            right += logits[i] >= 0 && targets[i] == 1 ? 1 : 0;
        }
        const double p = said == 0 ? 0 : right / double(said), r = there == 0 ? 0 : right / double(there);
        const double own = p + r == 0 ? 0 : 2 * p * r / (p + r);
        CHECK(scores.labels[label].precision() == Approx(p));
        CHECK(scores.labels[label].recall() == Approx(r));
        CHECK(scores.labels[label].f1() == Approx(own).margin(1e-12));
        precision += p / kLabels;
        f1 += own / kLabels;
        everyRight += right;
        allSaid += said;
        allThere += there;
    }
    CHECK(scores.loss == Approx(loss / (kExamples * kLabels)));
    CHECK(scores.exactMatch == Approx(exact / kExamples));
    CHECK(scores.macro().precision == Approx(precision));
    CHECK(scores.macro().f1 == Approx(f1));
    CHECK(scores.micro().precision() == Approx(everyRight / double(allSaid)));
    CHECK(scores.micro().recall() == Approx(everyRight / double(allThere)));
}

TEST_CASE("label scores: one class of several has an accuracy, and its micro mean is the same", "[inference]") {
    const std::vector<float> logits{2, 1, 0, 0, 1, 2, 5, 0, 0, 1, 3, 1};
    const std::vector<double> targets{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0};
    const LabelScores scores = labelScores(ClassActivation::Softmax, 3, logits, targets);
    CHECK(scores.exactMatch == Approx(0.75));
    CHECK(scores.micro().f1() == Approx(0.75));
    CHECK(scores.labels[1].recall() == Approx(0.5));
    CHECK(scores.labels[2].precision() == 0);
    const auto lost = [](double own, double a, double b) {
        return std::log(1 + std::exp(a - own) + std::exp(b - own));
    };
    CHECK(scores.loss == Approx((lost(2, 1, 0) + lost(1, 0, 2) + lost(5, 0, 0) + lost(3, 1, 1)) / 4));
    // A class that the model bars takes no part in the loss of another.
    const std::vector<float> barred{2, -INFINITY, 0};
    CHECK(labelScores(ClassActivation::Softmax, 3, barred, std::vector<double>{1, 0, 0}).loss ==
          Approx(std::log(1 + std::exp(-2))));
}

TEST_CASE("label scores: numbers have errors and correlations, with shared ranks", "[inference]") {
    const std::vector<float> said{1, 2, 2, 5, 3};
    const std::vector<double> right{1.5, 1, 4, 4, 2};
    const LabelScores scores = labelScores(ClassActivation::None, 1, said, right);
    REQUIRE(scores.numbers.size() == 1);
    CHECK(scores.loss == Approx((0.25 + 1 + 4 + 1 + 1) / 5));
    CHECK(scores.numbers[0].absoluteError == Approx((0.5 + 1 + 2 + 1 + 1) / 5));
    // means 2.6 and 2.5: 5.0 / sqrt(9.2 * 8) and, of the ranks 1 2.5 2.5 5 4 and 2 1 4.5 4.5 3, 5.25 / 9.5
    CHECK(scores.numbers[0].pearson == Approx(5.0 / std::sqrt(9.2 * 8)));
    CHECK(scores.numbers[0].spearman == Approx(5.25 / 9.5));
    const std::vector<float> same{2, 2, 2, 2, 2};
    CHECK(std::isnan(labelScores(ClassActivation::None, 1, same, right).numbers[0].pearson));
}
