#include "engine/attention/execution.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "tests/attention/mask_pictures.h"
#include "tests/attention/random_masks.h"
#include "tests/io/files.h"
#include "tests/support/answers.h"

using namespace attn;
using namespace attn::test;

namespace {

/// A term whose mask depends on the content, as LSH buckets do.
constexpr std::array kBucketParams{Param{"buckets", "Buckets", "How many", Param::Kind::Integer, 1, 64, 1, 4},
                                   Param{"share", "Share", "A real number", Param::Kind::Real, 0, 1, 0.1, 0.5}};
const Part kBuckets{.id = "buckets", .slot = Slot::Mask, .params = kBucketParams};

MaskExpression parseWithContent(std::string_view text) {
    std::vector<const Part*> known(maskParts().begin(), maskParts().end());
    known.push_back(&kBuckets);
    return MaskExpression::parse(text, known);
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

} // namespace

TEST_CASE("masks: windows become narrower by a divisor, and nothing else changes", "[attention]") {
    const auto narrowed = [](const char* mask, int64_t divisor) {
        return MaskExpression::parse(mask).narrowed(divisor).text();
    };
    CHECK(narrowed("causal & (window(32) | global(2))", 4) == "causal & (window(8) | global(2))");
    CHECK(narrowed("per_head(longformer(6, 2, 1), ~dilated(9, 3))", 2) ==
          "per_head(longformer(3, 2, 1), ~dilated(4, 3))");
    CHECK(narrowed("window(3)", 8) == "window(1)");
    CHECK(narrowed("causal & blocks(8)", 2) == "causal & blocks(8)");
}

TEST_CASE("mask expression: random ones see what plain loops over their formula see", "[attention]") {
    std::mt19937 draws(1);
    for (int round = 0; round < 300; ++round) {
        const RandomMask random = randomMask(draws, 5);
        const auto mask = MaskExpression::parse(random.text);
        const MaskSize size{.queries = 1 + static_cast<int64_t>(draws() % 40),
                            .keys = 1 + static_cast<int64_t>(draws() % 150),
                            .head = static_cast<int>(draws() % 7),
                            .heads = 7,
                            .layer = static_cast<int>(draws() % 5)};
        BitRow row;
        for (int64_t i = 0; i < size.queries; ++i) {
            mask.row(size, i, row);
            REQUIRE(row.size() == size.keys);
            for (int64_t j = 0; j < size.keys; ++j) {
                const bool isSeen = random.sees(i, j, size.head, size.layer);
                if (row.test(j) != isSeen) FAIL(random.text << ": cell " << i << ", " << j);
            }
        }
        bool isAll = true, isPast = true, looksAhead = false; // for all heads
        for (int head = 0; head < size.heads; ++head)
            for (int64_t i = 0; i < size.queries; ++i)
                for (int64_t j = 0; j < size.keys; ++j) {
                    const bool isSeen = random.sees(i, j, head, size.layer);
                    isAll = isAll && isSeen;
                    isPast = isPast && isSeen == (j <= i);
                    looksAhead = looksAhead || (isSeen && j > i);
                }
        CHECK(mask.sight(size) == (isAll        ? MaskSight::All
                                   : isPast     ? MaskSight::Past
                                   : looksAhead ? MaskSight::Ahead
                                                : MaskSight::Back));
    }
}

TEST_CASE("mask expression: its text parses back to an equal expression and is its own text", "[attention]") {
    std::mt19937 draws(2);
    for (int round = 0; round < 500; ++round) {
        const RandomMask random = randomMask(draws, 6);
        CAPTURE(random.text);
        const auto mask = MaskExpression::parse(random.text);
        const auto again = MaskExpression::parse(mask.text());
        CHECK(again == mask);
        CHECK(again.text() == mask.text());
        CHECK(mask.text().size() <= random.text.size() + 200); // blanks around the signs, no new brackets
        CHECK(std::ranges::count(mask.text(), '(') <= std::ranges::count(random.text, '('));
    }
}

TEST_CASE("mask expression: its text has no needless brackets and blanks", "[attention]") {
    checkAnswers("attention/texts.json", "texts",
                 [](const std::string& text) { return MaskExpression::parse(text).text(); });
}

TEST_CASE("mask expression: equality is that of formulas up to the order of brackets", "[attention]") {
    const auto mask = [](const char* text) { return MaskExpression::parse(text); };
    CHECK(mask("(full & causal) & row(2, 2)") == mask("full & (causal & row(2, 2))"));
    CHECK(mask("full | causal") != mask("causal | full"));
    CHECK(mask("window(3)") != mask("window(4)"));
    CHECK(mask("xlnet(0, 1)") != mask("xlnet(1, 0)"));
    CHECK(mask("~causal") != mask("causal"));
    CHECK(mask("per_head(full, causal)") != mask("per_layer(full, causal)"));
    CHECK(MaskExpression() == mask("full"));
}

TEST_CASE("mask expression: the laws of sets hold", "[attention]") {
    std::mt19937 draws(3);
    for (int round = 0; round < 100; ++round) {
        const std::string a = "(" + randomMask(draws, 3).text + ")", b = "(" + randomMask(draws, 3).text + ")",
                          c = "(" + randomMask(draws, 3).text + ")";
        CAPTURE(a, b, c);
        const MaskSize size{.queries = 21, .keys = 70, .head = round, .heads = 100, .layer = round / 2};
        const auto agree = [&](const std::string& left, const std::string& right) {
            return pictureOf(left, size) == pictureOf(right, size);
        };
        CHECK(agree("~(" + a + "&" + b + ")", "~" + a + "|~" + b));
        CHECK(agree("~(" + a + "|" + b + ")", "~" + a + "&~" + b));
        CHECK(agree("~~" + a, a));
        CHECK(agree(a + "&(" + b + "|" + c + ")", "(" + a + "&" + b + ")|(" + a + "&" + c + ")"));
        CHECK(agree(a + "|(" + b + "&" + c + ")", "(" + a + "|" + b + ")&(" + a + "|" + c + ")"));
        CHECK(agree(a + "&~" + a, "~full"));
        CHECK(agree(a + "|~" + a, "full"));
        CHECK(agree(a + "&" + b + "|" + c, "(" + a + "&" + b + ")|" + c));
    }
}

TEST_CASE("mask expression: heads and layers go through their expressions over and over", "[attention]") {
    const auto mask = MaskExpression::parse("per_head(full, per_layer(causal, ~causal, blocks(1)))");
    CHECK(mask.dependsOnHead());
    CHECK(mask.dependsOnLayer());
    const auto at = [&](int head, int layer) {
        return pictureOf(mask, {.queries = 2, .keys = 2, .head = head, .heads = 4, .layer = layer});
    };
    CHECK(at(0, 0) == "## ##");
    CHECK(at(2, 1) == "## ##");
    CHECK(at(1, 0) == "#. ##");
    CHECK(at(3, 1) == ".# ..");
    CHECK(at(1, 2) == "#. .#");
    CHECK(at(1, 3) == "#. ##");
    CHECK_FALSE(MaskExpression::parse("causal & window(3)").dependsOnHead());
    CHECK_FALSE(MaskExpression::parse("per_head(causal)").dependsOnLayer());
}

TEST_CASE("mask expression: whether it looks ahead counts existing cells only", "[attention]") {
    const auto looks = [](const char* text, int64_t queries, int64_t keys) {
        const MaskSight shown = MaskExpression::parse(text).sight({.queries = queries, .keys = keys});
        return shown == MaskSight::Ahead || (shown == MaskSight::All && keys > 1);
    };
    CHECK(looks("full", 4, 4));
    CHECK_FALSE(looks("full", 1, 1));
    CHECK_FALSE(looks("full", 5, 1));
    CHECK(looks("full", 1, 2));
    CHECK_FALSE(looks("causal | window(1)", 100, 100));
    CHECK(looks("causal | painted(3, 5, 1)", 100, 100));
    CHECK_FALSE(looks("xlnet_query(0)", 50, 50));
}

TEST_CASE("mask expression: what a band shows is what its rows show", "[attention]") {
    for (const std::string text : {"full", "causal", "window(3)", "causal & window(3)", "causal & window(9)"})
        for (const int64_t length : {1, 2, 3, 9, 20}) {
            const MaskExpression rows = MaskExpression::parse("(" + text + ") | ~full"); // the same mask, but no band
            INFO(text << " of " << length);
            CHECK(MaskExpression::parse(text).band());
            CHECK_FALSE(rows.band());
            CHECK(MaskExpression::parse(text).sight({.queries = length, .keys = length}) ==
                  rows.sight({.queries = length, .keys = length}));
            AttentionSpec band, listed;
            band.mask = MaskExpression::parse(text);
            listed.mask = rows;
            CHECK(kernelRule(band, length, 16) == kernelRule(listed, length, 16));
        }
}

TEST_CASE("mask expression: terms that depend on the content are split off the outermost &", "[attention]") {
    const auto mask = parseWithContent("causal & buckets(8, 0.25) & (window(3) | global(1)) & buckets(2, 1)");
    const std::vector<MaskExpression::ContentTerm> expected{{&kBuckets, {8, 0.25}}, {&kBuckets, {2, 1}}};
    CHECK(mask.contentTerms() == expected);
    CHECK(mask.staticPart() == MaskExpression::parse("causal & (window(3) | global(1))"));
    CHECK(mask.text() == "causal & buckets(8, 0.25) & (window(3) | global(1)) & buckets(2, 1)");
    CHECK(parseWithContent(mask.text()) == mask);

    CHECK(parseWithContent("(buckets(8, 0)) & causal").staticPart() == MaskExpression::parse("causal"));
    CHECK(parseWithContent("buckets(8, 0)").staticPart() == MaskExpression::parse("full"));
    CHECK(parseWithContent("buckets(8, 0)").contentTerms().size() == 1);
    CHECK(parseWithContent("causal").contentTerms().empty());
    CHECK(parseWithContent("~causal & full").staticPart() == MaskExpression::parse("~causal & full"));

    BitRow row;
    CHECK_THROWS_WITH(mask.row(square(4), 0, row),
                      CONTAINS("buckets hides cells by their content, so it has no fixed mask"));
    for (const char* hidden : {"causal | buckets(8, 0)", "~buckets(8, 0)", "per_head(buckets(8, 0), full)",
                               "causal & (full | buckets(8, 0))", "buckets(1, 0) & ~(full & buckets(8, 0))"})
        CHECK_THROWS_WITH(parseWithContent(hidden),
                          CONTAINS("buckets depends on the content, so only the outermost & may join it; "
                                   "write ... & buckets(8, 0)"));
    // The place is that of the term at fault, not of the first one of its kind.
    CHECK_THROWS_WITH(parseWithContent("buckets(1, 0) & ~buckets(8, 0)"), CONTAINS("character 18 of"));
}

TEST_CASE("mask expression: what is no expression is refused in a sentence with place, fault and remedy",
          "[attention]") {
    checkAnswers("attention/texts.json", "refusals",
                 [](const std::string& text) { return sentenceOf([&] { MaskExpression::parse(text); }); });
}

TEST_CASE("mask expression: deep and huge input is answered, never a crash", "[attention]") {
    const std::string deep = "character 101 of the mask expression: brackets and ~ are nested more than 100 deep";
    CHECK_THROWS_WITH(MaskExpression::parse(repeated("(", 1'000'000)), CONTAINS(deep));
    CHECK_THROWS_WITH(MaskExpression::parse(repeated("~", 1'000'000)), CONTAINS(deep));
    CHECK_THROWS_WITH(MaskExpression::parse(repeated("per_head(", 1'000'000)), CONTAINS("more than 100 deep"));
    CHECK_THROWS_WITH(MaskExpression::parse(std::string(1'000'000, 'x')),
                      CONTAINS("\"" + std::string(32, 'x') + "...\""));
    CHECK(pictureOf(repeated("~", 99) + "causal", square(2)) == ".# ..");
    CHECK(pictureOf(repeated("(", 99) + "causal" + repeated(")", 99), square(2)) == "#. ##");
    CHECK(pictureOf(repeated("causal & ", 20'000) + "full", square(2)) == "#. ##");
    CHECK(MaskExpression::parse("painted(65536" + repeated(", 1", 300'000) + ")").text().size() > 900'000);
    const std::string nul("full\0", 5);
    CHECK_THROWS_WITH(MaskExpression::parse(nul), CONTAINS("the control character 0 follows the end"));
}

TEST_CASE("mask expression: mutated text is an expression or an Error", "[attention]") {
    std::mt19937 draws(5);
    const std::string letters = "()&|~, 0139.-abcdefghijklmnopqrstuvwxyz_\xE2\x88\xAA";
    int accepted = 0, refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = randomMask(draws, 3).text;
        for (unsigned edits = draws() % 3; edits-- > 0 && !text.empty();) {
            const size_t at = draws() % text.size();
            switch (draws() % 3) {
            case 0:
                text.erase(at, 1 + draws() % 3);
                break;
            case 1:
                text.insert(at, 1, letters[draws() % letters.size()]);
                break;
            default:
                text[at] = letters[draws() % letters.size()];
            }
        }
        try {
            const auto mask = MaskExpression::parse(text);
            if (MaskExpression::parse(mask.text()) != mask) FAIL(text);
            ++accepted;
        } catch (const Error&) {
            ++refused;
        }
    }
    CHECK(accepted > 1000);
    CHECK(refused > 1000);
}
