#include "engine/analysis/patch_head_kinds.h"
#include "tests/analysis/golden_case.h"
#include "tests/analysis/vision_golden.h"

// Kinds of heads of vision models: by hand on patterns that are made for it, and against PyTorch
// (tests/golden/vision_analysis.py).

using namespace attn;
using namespace attn::test;

namespace {

using Kind = PatchHeadKind;

/// The tokens of a 3 x 3 grid behind a prefix.
constexpr ImageSize kGrid{3, 3};
LayerLayout layoutOf(int prefix) {
    LayerLayout layout{.prefix = prefix, .tokens = prefix + kGrid.area(), .tokenOf = {}, .windows = {}};
    for (int patch = 0; patch < kGrid.area(); ++patch) layout.tokenOf.push_back(prefix + patch);
    return layout;
}

/// One head whose weight is given for a patch and a token; rows of the prefix look at themselves.
SitePattern patternOf(int prefix, const std::function<double(int patch, int token)>& weight) {
    SitePattern pattern{.layout = layoutOf(prefix), .heads = 1, .values = {}};
    for (int query = 0; query < pattern.layout.tokens; ++query)
        for (int token = 0; token < pattern.layout.tokens; ++token)
            pattern.values.push_back(
                static_cast<float>(query < prefix ? (token == query ? 1 : 0) : weight(query - prefix, token)));
    return pattern;
}

HeadScores scoresOf(const SitePattern& pattern, int classTokens) {
    const auto scores = patchHeadScores(
        pattern, {.grid = kGrid, .classTokens = classTokens, .pixelSimilarity = {}, .shuffled = pattern.values});
    REQUIRE(scores.size() == 1);
    return scores.front();
}

/// The score, and what it is beyond an even spread.
void check(const HeadScores& scores, Kind kind, double score, double even) {
    INFO(patchHeadKinds()[static_cast<size_t>(kind)].title);
    CHECK(scores.of(kind) == Approx(score).margin(1e-6));
    CHECK(scores.beyond[static_cast<size_t>(kind)] == Approx(std::max(0.0, (score - even) / (1 - even))).margin(1e-6));
}

std::optional<Kind> kindOf(const HeadScores& scores) {
    const auto kind = scores.kind();
    return kind ? std::optional(static_cast<Kind>(*kind)) : std::nullopt;
}

bool hasReading(const HeadScores& scores, Kind kind) { return !std::isnan(scores.of(kind)); }

} // namespace

TEST_CASE("patch head kinds: a head that looks at itself", "[analysis][vision]") {
    const auto scores = scoresOf(patternOf(1, [](int patch, int token) { return token == 1 + patch ? 1 : 0; }), 1);
    CHECK(kindOf(scores) == Kind::Itself);
    CHECK(scores.title() == "itself");
    check(scores, Kind::Itself, 1, 0.1);
    check(scores, Kind::ClassToken, 0, 0.1);
    check(scores, Kind::Neighbours, 0, 4.0 / 9); // 40 ordered pairs of neighbours, 10 tokens
    check(scores, Kind::RowAndColumn, 0, 12.0 / 90);
    check(scores, Kind::OneOffset, 0, 6.0 / 90);
    check(scores, Kind::Positional, 1, 0);
    check(scores, Kind::WholePicture, 0, 0);
    CHECK_FALSE(hasReading(scores, Kind::Registers)); // there are none
    CHECK_FALSE(hasReading(scores, Kind::Content));   // no likeness was given
}

TEST_CASE("patch head kinds: heads that look at CLS, at registers, and at everything", "[analysis][vision]") {
    const auto sink = scoresOf(patternOf(3, [](int, int token) { return token == 0 ? 1 : 0; }), 1);
    CHECK(kindOf(sink) == Kind::ClassToken);
    CHECK(sink.title() == "CLS");
    check(sink, Kind::ClassToken, 1, 1.0 / 12);
    check(sink, Kind::Registers, 0, 2.0 / 12);
    check(sink, Kind::Positional, 1, 0); // which is said less specially

    const auto registers = scoresOf(patternOf(3, [](int, int token) { return token == 1 || token == 2 ? 0.5 : 0; }), 1);
    CHECK(kindOf(registers) == Kind::Registers);
    check(registers, Kind::Registers, 1, 2.0 / 12);
    CHECK(registers.of(Kind::WholePicture) == Approx(std::log(2) / std::log(12)));

    const auto even = scoresOf(patternOf(1, [](int, int) { return 0.1; }), 1);
    CHECK(kindOf(even) == Kind::WholePicture);
    CHECK(even.of(Kind::Itself) == Approx(0.1));
    CHECK(even.of(Kind::ClassToken) == Approx(0.1));
    CHECK(even.of(Kind::Neighbours) == Approx(4.0 / 9));
    CHECK(even.of(Kind::RowAndColumn) == Approx(12.0 / 90));
    CHECK(even.of(Kind::OneOffset) == Approx(6.0 / 90));
    CHECK(even.of(Kind::Positional) == Approx(1));
    CHECK(even.of(Kind::WholePicture) == Approx(1));
    for (size_t kind = 0; kind + 1 < kPatchHeadKinds; ++kind) // nothing else is beyond an even spread
        CHECK((std::isnan(even.beyond[kind]) || even.beyond[kind] < 1e-6f));

    const auto none = scoresOf(patternOf(0, [](int, int) { return 1.0 / 9; }), 0);
    CHECK_FALSE(hasReading(none, Kind::ClassToken));
}

TEST_CASE("patch head kinds: a head that looks at the next patch to the right, around, and along",
          "[analysis][vision]") {
    // Patches of the last column look at themselves.
    const auto right = scoresOf(
        patternOf(0, [](int patch, int token) { return token == (patch % 3 < 2 ? patch + 1 : patch) ? 1 : 0; }), 0);
    CHECK(kindOf(right) == Kind::OneOffset);
    CHECK(right.title() == "one offset (0, +1)");
    CHECK(right.down == 0);
    CHECK(right.right == 1);
    check(right, Kind::OneOffset, 6.0 / 9, 6.0 / 81);
    check(right, Kind::Itself, 3.0 / 9, 1.0 / 9);
    check(right, Kind::Neighbours, 6.0 / 9, 40.0 / 81);
    check(right, Kind::RowAndColumn, 0, 12.0 / 81);

    const auto isNear = [](int patch, int token) {
        return std::abs(patch / 3 - token / 3) <= 1 && std::abs(patch % 3 - token % 3) <= 1 && patch != token;
    };
    const auto around = scoresOf(patternOf(0,
                                           [&](int patch, int token) {
                                               int count = 0;
                                               for (int other = 0; other < 9; ++other) count += isNear(patch, other);
                                               return isNear(patch, token) ? 1.0 / count : 0;
                                           }),
                                 0);
    CHECK(kindOf(around) == Kind::Neighbours);
    check(around, Kind::Neighbours, 1, 40.0 / 81);

    // The far end of the row, and of the column; the middle has none and looks at itself.
    const auto along = scoresOf(
        patternOf(0,
                  [](int patch, int token) {
                      const int row = patch / 3, column = patch % 3;
                      const int far = column != 1 ? row * 3 + 2 - column : row != 1 ? (2 - row) * 3 + column : patch;
                      return token == far ? 1 : 0;
                  }),
        0);
    CHECK(kindOf(along) == Kind::RowAndColumn);
    check(along, Kind::RowAndColumn, 8.0 / 9, 12.0 / 81);
}

TEST_CASE("patch head kinds: content is what goes with likeness, positional what stays", "[analysis][vision]") {
    // Two columns of one colour and a third of another: a likeness of 0 or of -1.
    std::vector<float> patches;
    for (int patch = 0; patch < 9; ++patch) patches.insert(patches.end(), 2, patch % 3 == 2 ? 1.0f : 0.0f);
    const auto isAlike = [](int a, int b) { return (a % 3 == 2) == (b % 3 == 2); };
    const std::vector<float> pixelSimilarity = patchSimilarity(layoutOf(0), patches);
    for (int patch = 0; patch < 9; ++patch)
        for (int other = 0; other < 9; ++other)
            CHECK(pixelSimilarity[static_cast<size_t>(patch * 9 + other)] == (isAlike(patch, other) ? 0.0f : -1.0f));
    const auto contentOf = [&](bool looksAtAlike) {
        // Each has 5 others that are alike and 3 that are not, or 2 and 6. The one weight is as much above the other
        // in every row, so that weight is a line of likeness.
        const SitePattern pattern = patternOf(0, [&](int patch, int token) {
            if (patch == token) return looksAtAlike ? 0.05 : 0.1;
            if (!looksAtAlike) return isAlike(patch, token) ? 0 : patch % 3 == 2 ? 0.15 : 0.3;
            return (isAlike(patch, token) ? 0.19 : 0) + (patch % 3 == 2 ? 0.57 / 8 : 0);
        });
        return patchHeadScores(pattern,
                               {.grid = {}, .classTokens = 0, .pixelSimilarity = pixelSimilarity, .shuffled = {}})
            .front();
    };
    CHECK(contentOf(true).of(Kind::Content) == Approx(1));
    CHECK(kindOf(contentOf(true)) == Kind::Content);
    CHECK(contentOf(false).of(Kind::Content) == 0);
    const SitePattern faint = patternOf(0, [&](int patch, int token) { // even but for a hair
        return 1.0 / 9 + (patch == token ? 0 : isAlike(patch, token) ? 1e-4 : -1e-4);
    });
    const auto nearlyEven =
        patchHeadScores(faint, {.grid = {}, .classTokens = 0, .pixelSimilarity = pixelSimilarity, .shuffled = {}})
            .front();
    CHECK(nearlyEven.of(Kind::Content) > 0.9f);
    CHECK(kindOf(nearlyEven) == Kind::WholePicture);
    CHECK_FALSE(hasReading(contentOf(true), Kind::Positional));
    const std::vector<float> blank = patchSimilarity(layoutOf(0), std::vector<float>(18, 1.0f));
    const SitePattern any = patternOf(0, [](int, int token) { return token == 0 ? 1 : 0; });
    CHECK_FALSE(hasReading(
        patchHeadScores(any, {.grid = kGrid, .classTokens = 0, .pixelSimilarity = blank, .shuffled = {}}).front(),
        Kind::Content)); // all patches are alike

    // All looked at patch 0; of the shuffled picture half of it looks elsewhere.
    const SitePattern half = patternOf(0, [](int, int token) { return token < 2 ? 0.5 : 0; });
    const auto scores =
        patchHeadScores(any, {.grid = kGrid, .classTokens = 0, .pixelSimilarity = {}, .shuffled = half.values}).front();
    CHECK(scores.of(Kind::Positional) == Approx(0.5));
    CHECK(scores.beyond[static_cast<size_t>(Kind::Positional)] == Approx((0.5 - 1.0 / 9) / (1 - 1.0 / 9)));
    CHECK(kindOf(scores) == Kind::Positional);
}

TEST_CASE("patch head kinds: tokens without a place have readings of the rest", "[analysis][vision]") {
    const SitePattern pattern = patternOf(1, [](int patch, int token) { return token == 1 + patch ? 1 : 0; });
    const auto scores =
        patchHeadScores(pattern, {.grid = {}, .classTokens = 1, .pixelSimilarity = {}, .shuffled = {}}).front();
    for (const Kind kind : {Kind::Neighbours, Kind::RowAndColumn, Kind::OneOffset, Kind::Positional})
        CHECK_FALSE(hasReading(scores, kind));
    CHECK(kindOf(scores) == Kind::Itself);
    SitePattern cut = pattern;
    cut.values.pop_back();
    CHECK_THROWS_AS(patchHeadScores(cut, {}), Error);
}

TEST_CASE("patch head kinds: every kind explains itself, and orders are shuffles", "[analysis][vision]") {
    std::set<std::string> ids;
    for (size_t kind = 0; kind < kPatchHeadKinds; ++kind) {
        const HeadKind& text = patchHeadKinds()[kind];
        ids.insert(text.id);
        CHECK(std::string(text.finding).ends_with("."));
    }
    CHECK(ids.size() == kPatchHeadKinds);
    std::vector<int> order = shuffledOrder(16, 1);
    CHECK(order == shuffledOrder(16, 1));
    CHECK(order != shuffledOrder(16, 2));
    std::ranges::sort(order);
    for (int i = 0; i < 16; ++i) CHECK(order[static_cast<size_t>(i)] == i);
}

TEST_CASE("vision goldens: kinds of heads agree with PyTorch", "[analysis][vision][gpu]") {
    for (const char* name : kHeadGoldens) {
        INFO(name);
        const Golden golden(name, "analysis.safetensors");
        const auto result = GoldenPicture(name).heads();
        const auto& heads = result->heads;
        const std::vector<float> expected = golden.values("kinds.scores");
        const std::vector<int> ways = golden.integers("kinds.ways");
        REQUIRE(expected.size() == heads.size() * kPatchHeadKinds);
        for (size_t at = 0; at < heads.size(); ++at) {
            const HeadScores& head = heads[at];
            INFO("layer " << head.site << ", head " << head.head);
            for (size_t kind = 0; kind < kPatchHeadKinds; ++kind) {
                INFO(patchHeadKinds()[kind].title);
                const float score = head.scores[kind], other = expected[at * kPatchHeadKinds + kind];
                REQUIRE(std::isnan(score) == std::isnan(other));
                if (std::isnan(score)) continue;
                CHECK((score >= 0 && score <= 1));
                CHECK((head.beyond[kind] >= 0 && head.beyond[kind] <= 1));
                CHECK(std::abs(score - other) < 1e-4);
            }
            CHECK(head.down == ways[2 * at]);
            CHECK(head.right == ways[2 * at + 1]);
        }
    }
}

TEST_CASE("patch head kinds: models that pool tokens, and that form no pattern", "[analysis][vision][gpu]") {
    const auto pooled = GoldenPicture("vit", poolTokens).heads();
    REQUIRE(pooled->heads.size() == 6);
    CHECK(hasReading(pooled->heads[0], Kind::Neighbours));
    CHECK_FALSE(hasReading(pooled->heads[3], Kind::Neighbours));
    CHECK(hasReading(pooled->heads[3], Kind::Content));
    CHECK(hasReading(pooled->heads[3], Kind::WholePicture));
    GoldenPicture mixed("vit", [](ModelSpec& config) {
        for (LayerAttention& layer : config.layers) layer.spec.set(Slot::Mixer, "fnet");
    });
    CHECK_THROWS_WITH(mixed.heads(), CONTAINS("no layer forms a pattern"));
}
