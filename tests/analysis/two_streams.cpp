#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/continuation.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/sweeps.h"
#include "engine/analysis/weighted_attention.h"
#include "engine/models/head_name.h"
#include "tests/analysis/golden_case.h"

// Analyses of models with an encoder and a decoder against PyTorch: tests/golden/two_stream_analysis.py.

using namespace attn;
using namespace attn::test;

namespace {

constexpr int kCrossHead = 1, kAfter = 6, kAgainst = 5;
constexpr const char* kTwoStreamModels[] = {"t5", "marian_two_tables"};

struct TwoStreams : GoldenCase {
    explicit TwoStreams(const std::string& name)
        : GoldenCase(name), input(TextInput{.tokens = tokens, .source = Golden(name).integers("source_tokens")}) {}

    template <class Result> std::shared_ptr<Result> run(const Analysis& analysis) {
        return std::static_pointer_cast<Result>(analysis.run(model, {.input = input}));
    }

    /// The number of layers of its encoder: 2 of T5, 1 of Marian.
    int encoderLayers() const { return static_cast<int>(model.info().structure.sitesOf(0).size()); }

    Input input;
};

/// NaN where both are NaN; a difference elsewhere.
bool isNear(const std::vector<float>& a, const std::vector<float>& b, float margin) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (std::isnan(a[i]) != std::isnan(b[i]) || std::abs(a[i] - b[i]) > margin) return false;
    return true;
}

const char* anyModel() { return GENERATE(from_range(std::begin(kTwoStreamModels), std::end(kTwoStreamModels))); }

} // namespace

TEST_CASE("two streams: the logit lens through encoder and decoder agrees with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    const auto lens = golden.run<LogitLens>(LogitLensAnalysis{});
    LogitLens::Stage all;
    std::vector<std::string> names;
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    for (const LogitLens::Stage& stage : lens->stages) {
        names.push_back(stage.name());
        append(all.ids, stage.ids);
        append(all.probabilities, stage.probabilities);
        append(all.finalRank, stage.finalRank);
        append(all.finalProbability, stage.finalProbability);
    }
    std::vector<std::string> expected{"encoder embedding", "encoder layer 0", "decoder embedding", "decoder layer 0",
                                      "decoder layer 1"};
    if (golden.encoderLayers() == 2) expected.insert(expected.begin() + 2, "encoder layer 1");
    CHECK(names == expected);
    CHECK(all.ids == golden.integers("lens.ids"));
    CHECK(farthest(all.probabilities, golden.values("lens.probabilities")) < 1e-4);
    CHECK(all.finalRank == golden.integers("lens.rank"));
    CHECK(farthest(all.finalProbability, golden.values("lens.final_probability")) < 1e-4);
}

TEST_CASE("two streams: losses of a target agree with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    const auto scores = golden.run<TokenScores>(TokenScoresAnalysis{});
    REQUIRE(scores->tokens == golden.tokens);
    CHECK(farthest({scores->loss.begin() + 1, scores->loss.end()}, golden.values("scores.loss")) < 1e-4);
    TokenScoresAnalysis withoutStart; // a text does not name the token that begins every target
    withoutStart.tokens.assign(golden.tokens.begin() + 1, golden.tokens.end());
    CHECK(golden.run<TokenScores>(withoutStart)->tokens == golden.tokens);
}

TEST_CASE("two streams: contributions of the decoder's parts agree with PyTorch and sum to the logit",
          "[analysis][gpu]") {
    TwoStreams golden("t5");
    LogitAttributionAnalysis analysis;
    analysis.position = kAfter;
    analysis.target.other = kAgainst;
    const auto found = golden.run<LogitAttribution>(analysis);
    std::vector<float> values;
    std::vector<std::string> names;
    for (const auto& component : found->components) {
        values.push_back(component.value);
        names.push_back(component.name);
    }
    CHECK(farthest(values, golden.values("attribution.values")) < 1e-4);
    CHECK(std::accumulate(values.begin(), values.end(), 0.0) == Approx(found->logit).margin(1e-4));
    CHECK(std::vector(names.begin(), names.begin() + 5) ==
          std::vector<std::string>{"embedding", "Decoder L0 H0", "Decoder L0 H1", "Decoder L0 H2", "Cross L0 H0"});
    CHECK(names[7] == "Decoder L0 MLP");
    const ModelStructure& structure = golden.model.info().structure;
    for (const auto& component : found->components)
        if (component.kind == LogitAttribution::Kind::Head)
            CHECK(headName(structure.labelOf(component.site), component.head) == component.name);

    TwoStreams normed("marian_two_tables"); // its norms stand between the sublayers
    CHECK_THROWS_WITH(normed.run<LogitAttribution>(analysis),
                      CONTAINS("norms stand between its sublayers") && !CONTAINS("not linear"));
}

TEST_CASE("two streams: gradients by source and target agree with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    InputAttributionAnalysis analysis;
    analysis.position = kAfter;
    analysis.target.other = kAgainst;
    analysis.steps = analysis.mostSteps = 16;
    const auto found = golden.run<InputAttribution>(analysis);
    CHECK(farthest(found->gradientTimesInput, golden.values("gradient_times_input")) < 1e-4);
    CHECK(farthest(found->integratedGradients, golden.values("integrated_gradients")) < 1e-4);
    CHECK(found->baselineLogit == Approx(golden.values("baseline_logit").front()).margin(1e-4));
    const size_t source = golden.input.source().size();
    for (size_t token = source + kAfter + 1; token < found->gradientTimesInput.size(); ++token)
        CHECK(found->gradientTimesInput[token] == 0); // later tokens of the target
}

TEST_CASE("two streams: rollout and flow through both agree with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    RolloutAnalysis analysis;
    analysis.wantsFlow = true;
    const auto flow = golden.run<Rollout>(analysis);
    CHECK(farthest(flow->ofRow, golden.values("flow.rollout")) < 1e-4);
    CHECK(farthest(flow->flow, golden.values("flow.flow")) < 1e-4);
    analysis.target = LogitTarget{};
    CHECK_THROWS_WITH(golden.run<Rollout>(analysis), CONTAINS("one stack"));
}

TEST_CASE("two streams: weighted cross-attention agrees with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    WeightedAttentionAnalysis analysis;
    analysis.site = golden.model.info().siteCount() - 1;
    analysis.head = kCrossHead;
    const auto found = golden.run<WeightedAttention>(analysis);
    CHECK(found->queries == static_cast<int>(golden.tokens.size()));
    CHECK(found->keys == static_cast<int>(golden.input.source().size()));
    CHECK(farthest(found->valueWeighted, golden.values("weighted.value")) < 1e-4);
    CHECK(farthest(found->normWeighted, golden.values("weighted.norm")) < 1e-4);
    analysis.site = 0; // of the encoder, which the target's tokens do not reach
    CHECK(golden.run<WeightedAttention>(analysis)->queries == found->keys);
}

TEST_CASE("two streams: effects of removing heads and MLPs of both agree with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    const auto effects = golden.run<AblationSweep>(AblationSweepAnalysis{});
    std::vector<float> expected = golden.values("effects.heads");
    REQUIRE(expected.size() == effects->headEffects.size());
    for (size_t at = 0; at < expected.size(); ++at) { // Marian's decoder has more heads than its encoder
        const auto heads = static_cast<size_t>(effects->heads);
        if (at % heads >= static_cast<size_t>(golden.model.info().site(static_cast<int>(at / heads)).heads))
            expected[at] = std::nanf("");
    }
    CHECK(isNear(effects->headEffects, expected, 1e-4f));
    std::vector<float> mlps = effects->mlpEffects;
    CHECK(std::isnan(mlps[static_cast<size_t>(golden.encoderLayers())])); // cross-attention follows this site
    std::erase_if(mlps, [](float value) { return std::isnan(value); });
    CHECK(farthest(mlps, golden.values("effects.mlps")) < 1e-4);
}

TEST_CASE("two streams: patches from another source agree with PyTorch", "[analysis][gpu]") {
    TwoStreams golden(anyModel());
    PatchSweepAnalysis analysis;
    analysis.text = textOf(golden.integers("patch.other_source"));
    const auto found = golden.run<PatchSweep>(analysis);
    const auto source = static_cast<int>(golden.input.source().size());
    CHECK(found->tokens == source + static_cast<int>(golden.tokens.size()));
    const int decoder = golden.encoderLayers(); // its first site
    CHECK(found->sites == golden.model.info().structure.firstSites());
    CHECK(isNear(found->effects, golden.values("patch.shares"), 1e-3f)); // shares of a small gap
    CHECK(found->rowOf(decoder, source) == 0);
    CHECK(found->rowOf(decoder, source - 1) == -1);
    analysis.hook = "cross_attn.hook_pattern";
    const auto patterns = golden.run<PatchSweep>(analysis);
    CHECK(patterns->sites == std::vector<int>{decoder, decoder + 2});
    CHECK(std::isfinite(patterns->effects.back()));
    analysis.text = "1,2";
    CHECK_THROWS_WITH(golden.run<PatchSweep>(analysis),
                      CONTAINS("both texts need the same number of tokens: the source has 14, the other one 2"));
}

TEST_CASE("two streams: circuits say that they need one stack", "[analysis][gpu]") {
    TwoStreams golden("t5");
    CHECK_THROWS_WITH(golden.run<HeadCircuits>(HeadCircuitsAnalysis{}), CONTAINS("an encoder and a decoder"));
    CHECK(golden.run<Continuation>(ContinuationAnalysis{})->before ==
          golden.run<Continuation>(ContinuationAnalysis{})->after);
}
