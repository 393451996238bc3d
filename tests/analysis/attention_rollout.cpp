#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/attention_flow.h"
#include "tests/analysis/golden_case.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Two layers of two heads over two tokens.
const std::vector<float> kFirst{1, 0, 0.5f, 0.5f, /**/ 0.5f, 0.5f, 0, 1},
    kSecond{0.2f, 0.8f, 1, 0, /**/ 0.6f, 0.4f, 0, 1};
SitePattern plain(const std::vector<float>& values, int64_t tokens = 2) {
    SitePattern pattern{
        .layout = {.prefix = 0, .tokens = tokens, .tokenOf = {}, .windows = {}}, .heads = 2, .values = values};
    for (int32_t token = 0; token < tokens; ++token) pattern.layout.tokenOf.push_back(token);
    return pattern;
}
const std::vector<SitePattern> kLayers{plain(kFirst), plain(kSecond)};

bool isNear(const TokenMap& found, const std::vector<double>& expected) {
    return std::ranges::equal(found.values, expected,
                              [](float a, double b) { return std::abs(static_cast<double>(a) - b) < 1e-6; });
}

} // namespace

TEST_CASE("rollout: layers multiply, each half the token itself", "[session][vision]") {
    // Mean of the heads: [[.75 .25] [.25 .75]] and [[.4 .6] [.5 .5]]; with the residual [[.875 .125] [.125 .875]] and
    // [[.7 .3] [.25 .75]]; the second times the first.
    CHECK(isNear(attentionRollout(kLayers), {0.65, 0.35, 0.3125, 0.6875}));
    CHECK(isNear(attentionRollout(std::span(kLayers).first(1)), {0.875, 0.125, 0.125, 0.875}));
}

TEST_CASE("rollout: the largest and the smallest of the heads", "[session][vision]") {
    // Maxima [[1 .5] [.5 1]] make [[2 .5] [.5 2]] / 2.5.
    CHECK(isNear(attentionRollout(std::span(kLayers).first(1), {.fusion = HeadFusion::Maximum}), {0.8, 0.2, 0.2, 0.8}));
    // Minima [[.5 0] [0 .5]]
    CHECK(isNear(attentionRollout(std::span(kLayers).first(1), {.fusion = HeadFusion::Minimum}), {1, 0, 0, 1}));
}

TEST_CASE("rollout: the lowest share of the cells is left out", "[session][vision]") {
    // Of [[.4 .6] [.5 .5]] the lowest quarter is .4: [[1 .6] / 1.6, [.5 1.5] / 2].
    CHECK(isNear(attentionRollout(std::span(kLayers).last(1), {.discard = 0.25}), {0.625, 0.375, 0.25, 0.75}));
    for (const double discard : {0.0, 0.3, 0.9}) {
        const auto flow = attentionRollout(kLayers, {.discard = discard}).values;
        CHECK(flow[0] + flow[1] == Approx(1));
        CHECK(flow[2] + flow[3] == Approx(1));
    }
}

TEST_CASE("rollout: by a gradient, what is positive of pattern times gradient counts, layer upon layer",
          "[session][vision]") {
    const std::vector<std::vector<float>> gradients{{1, -1, 2, 2, /**/ 2, -2, 5, 1}, {0, 1, -1, 3, /**/ 1, 0, 4, -1}};
    // Products of the first layer [[1 0] [1 1]] and [[1 -1] [0 1]]: the mean of what is positive [[1 0] [.5 1]], and
    // the identity more. Of the second [[0 .8] [-1 0]] and [[.6 0] [0 -1]]: [[.3 .4] [0 0]] times that, and that.
    CHECK(isNear(gradientRollout(std::span(kLayers).first(1), std::span(gradients).first(1)), {2, 0, 0.5, 2}));
    CHECK(isNear(gradientRollout(kLayers, gradients), {2.8, 0.8, 0.5, 2}));
    CHECK_THAT(sentenceOf([&] { gradientRollout(kLayers, std::span(gradients).first(1)); }),
               CONTAINS("1 layers have a gradient but 2 have a pattern"));
    const std::vector<std::vector<float>> tooFew{gradients[0], {1}};
    CHECK_THAT(sentenceOf([&] { gradientRollout(kLayers, tooFew); }),
               CONTAINS("a gradient has 1 values but its pattern has 8"));
}

TEST_CASE("rollout: what is no pattern or no share is refused", "[session][vision]") {
    CHECK_THAT(sentenceOf([] { attentionRollout(std::vector{plain(kFirst, 3)}); }),
               CONTAINS("a pattern has 8 values instead of 2 heads of 3 x 3"));
    CHECK_THAT(sentenceOf([] { attentionRollout(kLayers, {.discard = 1}); }),
               CONTAINS("1 of the cells cannot be discarded"));
}

TEST_CASE("rollout: tokens that become one pass the mean of what they have on", "[session][vision]") {
    // Three patches: the first layer's tokens are they; of the second's two, one is patches 0 and 2.
    SitePattern first = plain({0, 1, 0, 0, 0, 1, 1, 0, 0, /**/ 0, 1, 0, 0, 0, 1, 1, 0, 0}, 3);
    SitePattern second = plain({0, 1, 0.5f, 0.5f, /**/ 0, 1, 0.5f, 0.5f});
    second.layout.tokenOf = {0, 1, 0};
    const TokenMap flow = attentionRollout(std::vector{first, second});
    CHECK(flow.rows.tokens == 2);
    CHECK(flow.columns.tokens == 3);
    // First: [[.5 .5 0] [0 .5 .5] [.5 0 .5]]; rows 0 and 2 as one [.5 .25 .25]. Second: [[.5 .5] [.25 .75]].
    CHECK(isNear(flow, {0.25, 0.375, 0.375, 0.125, 0.4375, 0.4375}));
}

TEST_CASE("rollout: windows pass nothing over their borders, and what went to no token goes to the others",
          "[session][vision]") {
    // Three tokens in a row, windows of 2 x 2: the grid is filled up by five places without a token.
    SitePattern pattern{
        .layout = {.prefix = 0, .tokens = 3, .tokenOf = {0, 1, 2}, .windows = windowLayout({1, 3}, {2, 0})},
        .heads = 1,
        .values = {}};
    // No larger than a window on one side, it is cut into windows of one token.
    CHECK(pattern.layout.windows->side == 1);
    pattern.layout.windows = WindowLayout{.windows = 2,
                                          .side = 2,
                                          .order = {0, 1, -1, -1, 2, -1, -1, -1},
                                          .places = {0, 1, 4},
                                          .regions = std::vector<int32_t>(8, 0)};
    pattern.values.assign(32, 0.25f);
    const TokenMap flow = attentionRollout(std::vector{pattern});
    // Each token gives .25 to both of its window and itself 1 more: [1.25 .25] / 1.5.
    CHECK(isNear(flow, {5.0 / 6, 1.0 / 6, 0, 1.0 / 6, 5.0 / 6, 0, 0, 0, 1}));
}

TEST_CASE("rollout: flow passes merged tokens, and is limited by what leaves them", "[session][vision]") {
    SitePattern first = plain({0, 1, 0, 0, 0, 1, 1, 0, 0, /**/ 0, 1, 0, 0, 0, 1, 1, 0, 0}, 3);
    SitePattern second = plain({0, 1, 0.5f, 0.5f, /**/ 0, 1, 0.5f, 0.5f});
    second.layout.tokenOf = {0, 1, 0};
    const std::vector<TokenMap> steps = rolloutSteps(std::vector{first, second});
    REQUIRE(steps.size() == 3); // two layers, and the merge between them
    // First: [[.5 .5 0] [0 .5 .5] [.5 0 .5]]. The merge: [[.5 0 .5] [0 1 0]]. Row 0 of the second passes .5 to each
    // merged token. Patch 0 is reached through the first of them only, the others through both.
    const std::vector<double> flows = maximumFlows(steps, std::vector{1.0, 0.0});
    REQUIRE(flows.size() == 3);
    CHECK(flows[0] == Approx(0.5));
    CHECK(flows[1] == Approx(1));
    CHECK(flows[2] == Approx(1));
}

TEST_CASE("rollout: pictures are explained as texts are", "[analysis][vision][gpu]") {
    const Golden expected("vit", "gradients.safetensors");
    VisionModel model(openModelSource((kGoldenRoot / "vit").string()),
                      {.device = {.softwareThreads = 0, .validation = true}});
    const std::vector<float> patches = model.patchesOf(Golden("vit").image());
    RolloutAnalysis analysis;
    analysis.wantsFlow = true;
    analysis.target = LogitTarget{.token = static_cast<int>(expected.values("class").front())};
    const auto result = analysis.run(model, {.input = patches});
    const auto& found = static_cast<const Rollout&>(*result);
    CHECK(farthest(found.map.values, expected.values("relevance")) < 1e-4);
    CHECK(found.row == 0); // the CLS token, which the classifier reads
    CHECK(std::ranges::equal(found.ofRow, std::span(found.map.values).first(found.ofRow.size())));
    REQUIRE(found.flow.size() == static_cast<size_t>(model.info().tokens()));
    CHECK(std::accumulate(found.flow.begin(), found.flow.end(), 0.0) == Approx(1).margin(1e-5));

    VisionModel merges(openModelSource((kGoldenRoot / "swin").string()),
                       {.device = {.softwareThreads = 0, .validation = true}});
    analysis = {};
    const auto mean = analysis.run(merges, {.input = merges.patchesOf(Golden("swin").image())});
    CHECK(static_cast<const Rollout&>(*mean).row == -1); // the classifier reads the mean
    const auto& shares = static_cast<const Rollout&>(*mean).ofRow;
    CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(1).margin(1e-5));
}
