#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/quadrature.h"
#include "engine/analysis/weighted_attention.h"
#include "tests/analysis/golden_case.h"

// Every analysis against PyTorch: tests/golden/analysis.py.

using namespace attn;
using namespace attn::test;

namespace {

constexpr int kLayer = 1, kHead = 2, kPosition = 12, kOtherToken = 5;
constexpr const char* kModels[] = {"gpt2", "llama_gqa"};

} // namespace

TEST_CASE("goldens: the logit lens agrees with PyTorch", "[analysis][gpu]") {
    const char* name = GENERATE(from_range(std::begin(kModels), std::end(kModels)));
    INFO(name);
    GoldenCase golden(name);
    const auto lens = golden.run<LogitLens>(LogitLensAnalysis{});
    LogitLens::Stage all; // of all stages, one after the other
    std::vector<std::string> names;
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    for (const LogitLens::Stage& stage : lens->stages) {
        names.push_back(stage.name());
        append(all.ids, stage.ids);
        append(all.probabilities, stage.probabilities);
        append(all.entropy, stage.entropy);
        append(all.finalRank, stage.finalRank);
        append(all.finalProbability, stage.finalProbability);
    }
    CHECK(names == std::vector<std::string>{"embedding", "layer 0", "layer 1"});
    CHECK(all.ids == golden.integers("lens.ids"));
    CHECK(farthest(all.probabilities, golden.values("lens.probabilities")) < 1e-4);
    CHECK(farthest(all.entropy, golden.values("lens.entropy")) < 1e-4);
    CHECK(all.finalRank == golden.integers("lens.rank"));
    CHECK(farthest(all.finalProbability, golden.values("lens.final_probability")) < 1e-4);
}

TEST_CASE("goldens: losses of tokens agree with PyTorch, also in windows", "[analysis][gpu]") {
    GoldenCase golden(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    const auto scores = golden.run<TokenScores>(TokenScoresAnalysis{});
    REQUIRE(scores->loss.size() == golden.tokens.size());
    CHECK(std::isnan(scores->loss.front()));
    CHECK(farthest({scores->loss.begin() + 1, scores->loss.end()}, golden.values("scores.loss")) < 1e-4);
    // The rank of the token is where its probability stands among the choices.
    for (size_t token = 1; token < scores->rank.size(); ++token) {
        const int rank = scores->rank[token];
        if (rank < scores->choices)
            CHECK(scores->ids[token * static_cast<size_t>(scores->choices) + static_cast<size_t>(rank)] ==
                  golden.tokens[token]);
    }
    // Longer than the context of 48: each token's loss is that of a window of its own.
    TokenScoresAnalysis longer;
    for (int i = 0; i < 5; ++i) longer.tokens.insert(longer.tokens.end(), golden.tokens.begin(), golden.tokens.end());
    const auto all = golden.run<TokenScores>(longer);
    REQUIRE(all->loss.size() == longer.tokens.size());
    TokenScoresAnalysis window; // the second begins half a context before the first one's end
    window.tokens.assign(longer.tokens.begin() + 24, longer.tokens.begin() + 72);
    const auto part = golden.run<TokenScores>(window);
    CHECK(farthest({all->loss.begin() + 48, all->loss.begin() + 72}, {part->loss.begin() + 24, part->loss.end()}) <
          1e-4);
    CHECK(std::isfinite(all->perplexity()));
}

TEST_CASE("goldens: contributions to a logit agree with PyTorch and sum to it", "[analysis][gpu]") {
    const char* name = GENERATE(from_range(std::begin(kModels), std::end(kModels)));
    INFO(name);
    GoldenCase golden(name);
    LogitAttributionAnalysis analysis;
    analysis.position = kPosition;
    analysis.target.other = kOtherToken;
    const auto found = golden.run<LogitAttribution>(analysis);
    std::vector<float> values;
    double sum = 0;
    for (const auto& component : found->components) {
        values.push_back(component.value);
        sum += static_cast<double>(component.value);
    }
    CHECK(farthest(values, golden.values("attribution.values")) < 1e-4);
    CHECK(found->logit == Approx(golden.values("attribution.logit").front()).margin(1e-4));
    CHECK(sum == Approx(found->logit).margin(1e-4));
    CHECK(found->components.front().name == "embedding");
}

TEST_CASE("goldens: gradients by the input agree with PyTorch; integrated ones are complete", "[analysis][gpu]") {
    GoldenCase golden(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    InputAttributionAnalysis analysis;
    analysis.position = kPosition;
    analysis.target.other = kOtherToken;
    analysis.steps = analysis.mostSteps = 16;
    const auto found = golden.run<InputAttribution>(analysis);
    CHECK(farthest(found->gradientTimesInput, golden.values("gradient_times_input")) < 1e-4);
    CHECK(farthest(found->integratedGradients, golden.values("integrated_gradients")) < 1e-4);
    for (size_t token = kPosition + 1; token < golden.tokens.size(); ++token)
        CHECK(found->gradientTimesInput[token] == 0);
    CHECK(found->baselineLogit == Approx(golden.values("baseline_logit").front()).margin(1e-4));
    analysis.steps = analysis.mostSteps = 32;
    const auto sumOf = [](const InputAttribution& of) {
        return std::accumulate(of.integratedGradients.begin(), of.integratedGradients.end(), 0.0);
    };
    const auto finer = golden.run<InputAttribution>(analysis);
    CHECK(sumOf(*finer) == Approx(finer->logit - finer->baselineLogit).margin(1e-3));
    analysis.steps = 4; // too few, so that they are doubled
    const auto doubled = golden.run<InputAttribution>(analysis);
    CHECK((doubled->steps > 4 && doubled->steps <= 32));
    CHECK(sumOf(*doubled) == Approx(doubled->logit - doubled->baselineLogit).epsilon(0.01));
}

TEST_CASE("quadrature: as exact as Gauss and Legendre say", "[analysis]") {
    const int count = GENERATE(1, 2, 5, 16, 32);
    INFO(count);
    const auto nodes = gaussLegendre(count);
    REQUIRE(nodes.size() == static_cast<size_t>(count));
    for (int power = 0; power < 2 * count; ++power) {
        double sum = 0;
        for (const QuadratureNode& node : nodes) sum += node.weight * std::pow(node.at, power);
        CHECK(sum == Approx(1.0 / (power + 1)).epsilon(1e-12));
    }
}

TEST_CASE("goldens: rollout, attention flow and relevance agree with independent ones", "[analysis][gpu]") {
    GoldenCase golden(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    RolloutAnalysis analysis;
    analysis.wantsFlow = true;
    const auto flow = golden.run<Rollout>(analysis);
    CHECK(farthest(flow->ofRow, golden.values("flow.rollout")) < 1e-4);
    CHECK(farthest(flow->flow, golden.values("flow.flow")) < 1e-4);

    analysis = {};
    analysis.row = kPosition;
    analysis.target = LogitTarget{.other = kOtherToken};
    const auto relevance = golden.run<Rollout>(analysis);
    CHECK(farthest(relevance->map.values, golden.values("flow.relevance")) < 1e-4);
    CHECK(relevance->target->token >= 0);
}

TEST_CASE("goldens: value-weighted and norm-weighted attention agree with PyTorch", "[analysis][gpu]") {
    GoldenCase golden(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    WeightedAttentionAnalysis analysis;
    analysis.site = kLayer;
    analysis.head = kHead;
    const auto found = golden.run<WeightedAttention>(analysis);
    CHECK(farthest(found->valueWeighted, golden.values("weighted.value")) < 1e-4);
    CHECK(farthest(found->normWeighted, golden.values("weighted.norm")) < 1e-4);
}

TEST_CASE("goldens: circuits, copying and composition agree with PyTorch", "[analysis][gpu]") {
    GoldenCase golden(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    HeadCircuitsAnalysis analysis;
    analysis.site = kLayer;
    analysis.head = kHead;
    analysis.choices = 4;
    const auto found = golden.run<HeadCircuits>(analysis);
    CHECK(found->tokens == golden.integers("circuit.tokens"));
    CHECK(found->copyingScore.value() == Approx(golden.values("circuit.copying").front()).margin(1e-4));
    const auto vocabulary = static_cast<size_t>(golden.model.info().vocabulary);
    for (const auto& [pairs, expected] : {std::pair(&found->reads, golden.values("circuit.reads")),
                                          std::pair(&found->writes, golden.values("circuit.writes"))})
        for (size_t token = 0; token < found->tokens.size(); ++token) {
            std::vector<float> row(expected.begin() + static_cast<std::ptrdiff_t>(token * vocabulary),
                                   expected.begin() + static_cast<std::ptrdiff_t>((token + 1) * vocabulary));
            for (size_t choice = 0; choice < 4; ++choice) {
                const float value = pairs->values[token * 4 + choice];
                CHECK(value == Approx(row[static_cast<size_t>(pairs->ids[token * 4 + choice])]).margin(1e-4));
            }
            std::ranges::sort(row, std::greater());
            for (size_t choice = 0; choice < 4; ++choice)
                CHECK(pairs->values[token * 4 + choice] == Approx(row[choice]).margin(1e-4));
        }
    CHECK(farthest(golden.run<CompositionScores>(CompositionScoresAnalysis{})->values, golden.values("composition")) <
          1e-4);
}

TEST_CASE("token scores: a finite loss whose perplexity overflows is a result", "[analysis]") {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    TokenScores scores;
    scores.tokens = {1, 2};
    scores.loss = {kNone, 800};
    scores.entropy = {kNone, 0.5f};
    const auto check = [&] {
        FiniteCount numbers;
        scores.count(numbers);
        numbers.require("scores", "model");
    };
    CHECK(std::isinf(scores.perplexity()));
    CHECK_NOTHROW(check());
    scores.loss[1] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH(check(), Catch::Matchers::Contains("are NaN or infinite"));
}
