#include "engine/session/attention_rollout.h"
#include "tests/io/files.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;

namespace {

/// Two layers of two heads over two tokens.
const std::vector<float> kFirst{1, 0, 0.5f, 0.5f, /**/ 0.5f, 0.5f, 0, 1},
    kSecond{0.2f, 0.8f, 1, 0, /**/ 0.6f, 0.4f, 0, 1};
const std::vector<std::span<const float>> kLayers{kFirst, kSecond};

bool isNear(const std::vector<float>& found, const std::vector<double>& expected) {
    return std::ranges::equal(found, expected,
                              [](float a, double b) { return std::abs(static_cast<double>(a) - b) < 1e-6; });
}

} // namespace

TEST_CASE("rollout: layers multiply, each half the token itself", "[session][vision]") {
    // Mean of the heads: [[.75 .25] [.25 .75]] and [[.4 .6] [.5 .5]]; with the residual [[.875 .125] [.125 .875]] and
    // [[.7 .3] [.25 .75]]; the second times the first.
    CHECK(isNear(attentionRollout(kLayers, 2, 2), {0.65, 0.35, 0.3125, 0.6875}));
    CHECK(isNear(attentionRollout(std::span(kLayers).first(1), 2, 2), {0.875, 0.125, 0.125, 0.875}));
}

TEST_CASE("rollout: the largest and the smallest of the heads", "[session][vision]") {
    // Maxima [[1 .5] [.5 1]] make [[2 .5] [.5 2]] / 2.5.
    CHECK(isNear(attentionRollout(std::span(kLayers).first(1), 2, 2, {.fusion = HeadFusion::Maximum}),
                 {0.8, 0.2, 0.2, 0.8}));
    // Minima [[.5 0] [0 .5]]
    CHECK(isNear(attentionRollout(std::span(kLayers).first(1), 2, 2, {.fusion = HeadFusion::Minimum}), {1, 0, 0, 1}));
}

TEST_CASE("rollout: the lowest share of the cells is left out", "[session][vision]") {
    // Of [[.4 .6] [.5 .5]] the lowest quarter is .4: [[1 .6] / 1.6, [.5 1.5] / 2].
    CHECK(isNear(attentionRollout(std::span(kLayers).last(1), 2, 2, {.discard = 0.25}), {0.625, 0.375, 0.25, 0.75}));
    for (const double discard : {0.0, 0.3, 0.9}) {
        const auto flow = attentionRollout(kLayers, 2, 2, {.discard = discard});
        CHECK(flow[0] + flow[1] == Approx(1));
        CHECK(flow[2] + flow[3] == Approx(1));
    }
}

TEST_CASE("rollout: by a gradient, what is positive of pattern times gradient counts, layer upon layer",
          "[session][vision]") {
    const std::vector<float> first{1, -1, 2, 2, /**/ 2, -2, 5, 1}, second{0, 1, -1, 3, /**/ 1, 0, 4, -1};
    const std::vector<std::span<const float>> gradients{first, second};
    // Products of the first layer [[1 0] [1 1]] and [[1 -1] [0 1]]: the mean of what is positive [[1 0] [.5 1]], and
    // the identity more. Of the second [[0 .8] [-1 0]] and [[.6 0] [0 -1]]: [[.3 .4] [0 0]] times that, and that.
    CHECK(isNear(gradientRollout(std::span(kLayers).first(1), std::span(gradients).first(1), 2, 2), {2, 0, 0.5, 2}));
    CHECK(isNear(gradientRollout(kLayers, gradients, 2, 2), {2.8, 0.8, 0.5, 2}));
    CHECK_THAT(sentenceOf([&] { gradientRollout(kLayers, std::span(gradients).first(1), 2, 2); }),
               CONTAINS("1 layers have a gradient and 2 a pattern"));
    CHECK_THAT(sentenceOf([&] { gradientRollout(kLayers, gradients, 2, 3); }),
               CONTAINS("a pattern has 8 numbers, not 2 heads of 3 x 3"));
}

TEST_CASE("rollout: what is no pattern or no share is refused", "[session][vision]") {
    CHECK_THAT(sentenceOf([] { attentionRollout(kLayers, 2, 3); }),
               CONTAINS("a pattern has 8 numbers, not 2 heads of 3 x 3"));
    CHECK_THAT(sentenceOf([] { attentionRollout(kLayers, 2, 2, {.discard = 1}); }),
               CONTAINS("1 of the cells cannot be discarded"));
}
