#include "engine/analysis/attention_distance.h"

#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

namespace {

SitePattern plain(std::vector<float> values, int heads, int64_t prefix, int32_t patches) {
    SitePattern pattern{.layout = {.prefix = prefix, .tokens = prefix + patches, .tokenOf = {}, .windows = {}},
                        .heads = heads,
                        .values = std::move(values)};
    for (int32_t patch = 0; patch < patches; ++patch)
        pattern.layout.tokenOf.push_back(static_cast<int32_t>(prefix) + patch);
    return pattern;
}

} // namespace

TEST_CASE("attention distance: by hand, over patches alone", "[session][vision]") {
    // CLS and 1 x 3 patches of 10 pixels. The first head: patch 0 gives .2 to CLS, .4 to itself and .4 to patch 2:
    // 10 pixels; patch 1 looks at itself: 0; patch 2 at patch 0 alone: 20. What CLS gives does not count.
    const std::vector<float> first{0, 0, 0, 1, 0.2f, 0.4f, 0, 0.4f, 0, 0, 1, 0, 0.5f, 0.5f, 0, 0};
    // The second: all on CLS but patch 1, which is 10 from both others.
    const std::vector<float> second{1, 0, 0, 0, 1, 0, 0, 0, 0, 0.5f, 0, 0.5f, 1, 0, 0, 0};
    // The third: nothing on patches.
    std::vector<float> pattern = first;
    pattern.insert(pattern.end(), second.begin(), second.end());
    for (int row = 0; row < 4; ++row) pattern.insert(pattern.end(), {1, 0, 0, 0});
    const std::vector<float> found = attentionDistances(plain(pattern, 3, 1, 3), 3, 10);
    REQUIRE(found.size() == 3);
    CHECK(found[0] == Approx(10));
    CHECK(found[1] == Approx(10));
    CHECK(std::isnan(found[2]));
}

TEST_CASE("attention distance: on a grid it is along the diagonal too", "[session][vision]") {
    // 2 x 2 patches of 16 pixels that each look at all alike: (0 + 16 + 16 + 16 sqrt 2) / 4.
    const std::vector<float> all(16, 0.25f);
    CHECK(attentionDistances(plain(all, 1, 0, 4), 2, 16)[0] == Approx((32 + 16 * std::sqrt(2.0)) / 4));
    // 3 x 2 patches, each looking at the last: rows down 2, 2, 1, 1, 0, 0 and columns 1, 0, 1, 0, 1, 0.
    std::vector<float> last(36, 0);
    for (size_t row = 0; row < 6; ++row) last[row * 6 + 5] = 1;
    CHECK(attentionDistances(plain(last, 1, 0, 6), 2, 1)[0] ==
          Approx((std::sqrt(5.0) + 2 + std::sqrt(2.0) + 1 + 1 + 0) / 6));
    CHECK_THAT(sentenceOf([&] { attentionDistances(plain(all, 2, 0, 4), 2, 16); }),
               CONTAINS("a pattern has 16 values instead of 2 heads of 4 x 4"));
}
