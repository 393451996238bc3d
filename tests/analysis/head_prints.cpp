#include "tests/analysis/golden_case.h"
#include "tests/analysis/vision_golden.h"

// Prints of heads of vision models, by which they are compared.

using namespace attn;
using namespace attn::test;

namespace {

/// One head over a grid of patches behind CLS and a register.
SitePattern patternOf(ImageSize grid, const std::function<double(int64_t patch, int64_t token)>& weight) {
    SitePattern pattern{
        .layout = {.prefix = 2, .tokens = 2 + grid.area(), .tokenOf = {}, .windows = {}}, .heads = 1, .values = {}};
    for (int64_t patch = 0; patch < grid.area(); ++patch)
        pattern.layout.tokenOf.push_back(static_cast<int32_t>(2 + patch));
    for (int64_t query = 0; query < pattern.layout.tokens; ++query)
        for (int64_t token = 0; token < pattern.layout.tokens; ++token)
            pattern.values.push_back(
                static_cast<float>(query < 2 ? (token == query ? 1 : 0) : weight(query - 2, token)));
    return pattern;
}

HeadPrint printOf(ImageSize grid, const std::function<double(int64_t patch, int64_t token)>& weight) {
    return patchHeadPrints(patternOf(grid, weight), grid, grid, 1).front();
}

double itself(int64_t patch, int64_t token) { return token == 2 + patch ? 1 : 0; }

constexpr size_t kHere = 24, kFurther = 49; ///< among the offsets

} // namespace

TEST_CASE("patch head prints: weights between areas, on CLS and on registers", "[analysis][vision]") {
    // 14 x 14 patches are 7 x 7 areas of 2 x 2: a quarter on the own patch, a quarter on the next one (in the last
    // column on itself), a quarter each on CLS and the register.
    const auto print = printOf({14, 14}, [](int64_t patch, int64_t token) {
        const int64_t next = patch % 14 == 13 ? patch : patch + 1;
        return (token < 2 ? 0.25 : 0) + (token == 2 + patch ? 0.25 : 0) + (token == 2 + next ? 0.25 : 0);
    });
    REQUIRE(print.areas == ImageSize{7, 7});
    REQUIRE(print.weights.size() == 49 * 51);
    const auto at = [&](size_t row, size_t column) { return print.weights[row * 51 + column]; };
    CHECK(at(0, 0) == Approx(0.375)); // the left two of four patches look right within the area
    CHECK(at(0, 1) == Approx(0.125));
    CHECK(at(6, 6) == Approx(0.5)); // at the right edge nothing leaves
    CHECK(at(10, 49) == Approx(0.25));
    CHECK(at(10, 50) == Approx(0.25));
    CHECK(print.offsets[kHere] == Approx(0.25 * (1 + 1.0 / 14)));
    CHECK(print.offsets[kHere + 1] == Approx(0.25 * 13 / 14));
    CHECK(print.offsets[kFurther] == Approx(0.5));
}

TEST_CASE("patch head prints: patches that areas do not divide are shared out", "[analysis][vision]") {
    const auto print = printOf({9, 16}, [](int64_t, int64_t token) { return token < 2 ? 0 : 1.0 / (9 * 16); });
    REQUIRE(print.areas == ImageSize{7, 7});
    for (size_t row = 0; row < 49; ++row)
        for (size_t column = 0; column < 49; ++column)
            CHECK(print.weights[row * 51 + column] == Approx(1.0 / 49).epsilon(1e-5));
    CHECK(similarity(print, print) == Approx(1).margin(1e-5));
}

TEST_CASE("patch head prints: heads are alike across grids, and unlike heads are not", "[analysis][vision]") {
    const auto right = [](int64_t columns) {
        return [columns](int64_t patch, int64_t token) {
            return token == 2 + (patch % columns == columns - 1 ? patch : patch + 1) ? 1.0 : 0.0;
        };
    };
    const auto even = [](double tokens) {
        return [tokens](int64_t, int64_t token) { return token < 2 ? 0.0 : 1 / tokens; };
    };
    const auto own4 = printOf({4, 4}, itself), own14 = printOf({14, 14}, itself);
    CHECK(similarity(own4, own4) == Approx(1).margin(1e-6));
    // By hand: the offsets are equal. Of seven areas on a line, the first of four holds one and 3/4 of the next, the
    // second 1/4 of that, one more and half of the middle one; what looks at itself stays so where both ends are held.
    const double edge = (1 + 0.75 * 0.75) / 1.75, middle = (0.25 * 0.25 + 1 + 0.5 * 0.5) / 1.75;
    const double line = (2 * std::sqrt(edge) + 2 * std::sqrt(middle)) / 4;
    CHECK(similarity(own4, own14) == Approx((line * line + 1) / 2).margin(1e-5));
    CHECK(similarity(own4, own14) == Approx(similarity(own14, own4)).margin(1e-6));
    CHECK(similarity(printOf({4, 4}, right(4)), printOf({14, 14}, right(14))) >
          similarity(printOf({4, 4}, right(4)), own14));
    CHECK(similarity(own14, printOf({14, 14}, even(196))) < 0.3f);
    CHECK(similarity(own14, printOf({14, 14}, [](int64_t, int64_t token) { return token == 0 ? 1 : 0; })) ==
          Approx(0).margin(1e-6));
    const auto elsewhere = patchHeadPrints(patternOf({4, 4}, itself), {4, 4}, {}, 1).front();
    CHECK(elsewhere.offsets.empty());
    CHECK(similarity(elsewhere, own4) == Approx(1).margin(1e-6)); // by areas alone
}

TEST_CASE("patch head prints: every head of every kind of model has one", "[analysis][vision][gpu]") {
    const auto check = [](const HeadDetection& found) {
        const size_t count = found.heads.size();
        REQUIRE(found.prints.size() == count);
        REQUIRE(found.alike.size() == count * count);
        for (size_t at = 0; at < count; ++at) {
            INFO("layer " << found.heads[at].site << ", head " << found.heads[at].head);
            const HeadPrint& print = found.prints[at];
            const auto columns = static_cast<std::ptrdiff_t>(print.areas.area()) + 2;
            for (auto row = print.weights.begin(); row != print.weights.end(); row += columns)
                CHECK(std::accumulate(row, row + columns, 0.0) == Approx(1).margin(1e-4));
            CHECK(found.alike[at * count + at] == Approx(1).margin(1e-4));
            for (const SimilarHead& other : similarHeads(found, at, found))
                CHECK(other.similarity == found.alike[at * count + other.index]);
        }
        size_t members = 0;
        for (const auto& group : headGroups(found, 0.8f)) members += group.size();
        CHECK(members == count);
        CHECK(headGroups(found, 0).size() == 1);
        CHECK(headGroups(found, 1.1f).size() == count);
        CHECK(found.indexOf(found.heads.back().site, found.heads.back().head) == count - 1);
        CHECK_THROWS_WITH(found.indexOf(9, 0), CONTAINS("no head 0 in layer 9"));
    };
    for (const char* name : {"vit", "dinov2_registers", "swin", "swin_padded"}) check(*GoldenPicture(name).heads());
    const auto found = GoldenPicture("vit", poolTokens).heads();
    check(*found);
    CHECK(found->prints.front().offsets.size() == 50);
    CHECK(found->prints.back().offsets.empty());
}

TEST_CASE("vision goldens: prints of heads and how alike they are agree with PyTorch", "[analysis][vision][gpu]") {
    const char* name = GENERATE(from_range(std::begin(kHeadGoldens), std::end(kHeadGoldens)));
    INFO(name);
    const Golden golden(name, "analysis.safetensors");
    const auto result = GoldenPicture(name).heads();
    const HeadDetection& found = *result;
    const auto isNear = [](std::span<const float> a, std::span<const float> b) {
        return std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) < 1e-4f; });
    };
    const std::vector<float> weights = golden.values("prints.weights"), offsets = golden.values("prints.offsets");
    std::vector<float> ownWeights, ownOffsets;
    for (size_t at = 0; at < found.prints.size(); ++at) {
        const HeadPrint& print = found.prints[at];
        if (found.heads[at].head == 0) ownWeights.insert(ownWeights.end(), print.weights.begin(), print.weights.end());
        ownOffsets.insert(ownOffsets.end(), print.offsets.begin(), print.offsets.end());
    }
    CHECK(isNear(ownWeights, weights));
    CHECK(isNear(ownOffsets, offsets));
    CHECK(isNear(found.alike, golden.values("prints.alike")));
}
