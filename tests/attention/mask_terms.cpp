#include "engine/attention/mask/catalogue.h"
#include "engine/attention/mask/painted.h"
#include "engine/attention/parts.h"
#include "engine/core/error.h"
#include "tests/attention/mask_cases.h"
#include "tests/attention/mask_pictures.h"

using namespace attn;
using namespace attn::test;

namespace {

/// The terms that are rows of bits; those that depend on the content are swept over in parts.cpp.
std::vector<const Part*> termsOfCells() {
    std::vector<const Part*> terms;
    for (const Part* part : maskParts())
        if (part->mask.row != nullptr) terms.push_back(part);
    return terms;
}

constexpr std::pair<int64_t, int64_t> kSizes[] = {{1, 1}, {4, 4}, {7, 5}, {64, 64}, {33, 100}, {130, 65}};

Arguments wholeNumbers(const std::vector<double>& values) { return {values.begin(), values.end()}; }

std::vector<int64_t> countsOf(const std::string& expression, const MaskSize& size) {
    const auto mask = MaskExpression::parse(expression);
    std::vector<int64_t> counts;
    BitRow row;
    for (int64_t query = 0; query < size.queries; ++query) {
        mask.row(size, query, row);
        counts.push_back(row.count());
    }
    return counts;
}

} // namespace

TEST_CASE("mask terms: every one says what it is, where it comes from and what its parameters are", "[attention]") {
    std::set<std::string_view> ids;
    for (const Part* part : termsOfCells()) {
        CAPTURE(part->id);
        CHECK(ids.insert(part->id).second);
        CHECK(part->slot == Slot::Mask);
        CHECK_FALSE(part->title.empty());
        CHECK_FALSE(part->formula.empty());
        CHECK(std::ranges::count(part->idea, '.') >= 2); // two sentences
        CHECK(part->idea.ends_with("."));
        CHECK_FALSE(part->time.empty());
        CHECK_FALSE(part->memory.empty());
        CHECK_FALSE(part->source.authors.empty());
        CHECK(part->source.year > 1990);
        CHECK_FALSE(part->source.title.empty());
        CHECK(part->source.where.starts_with("section"));
        CHECK(part->source.address.starts_with("arXiv:"));
        CHECK(part->takesList == !part->initialList.empty());
        for (const Param& param : part->params) {
            CAPTURE(param.id);
            CHECK_FALSE(param.title.empty());
            CHECK_FALSE(param.help.empty());
            CHECK(param.minimum < param.maximum);
            CHECK(param.initial >= param.minimum);
            CHECK(param.initial <= param.maximum);
        }
        const MaskCase* known = caseOf(part->id);
        REQUIRE(known != nullptr);
        CHECK((known->sees == nullptr) == part->isRandom);
        CHECK(part->takesList == !known->lists.empty());
    }
    CHECK(ids.size() == maskCases().size());
}

TEST_CASE("mask terms: every one draws its hand-written picture", "[attention]") {
    for (const Part* part : termsOfCells()) {
        const MaskCase& known = *caseOf(part->id);
        CAPTURE(known.term);
        CHECK(known.term.starts_with(part->id));
        CHECK(pictureOf(known.term, {.queries = known.queries, .keys = known.keys}) == known.picture);
    }
}

TEST_CASE("mask terms: every one sees what its formula says, cell by cell, at all limits of its parameters",
          "[attention]") {
    for (const Part* part : termsOfCells()) {
        const MaskCase& known = *caseOf(part->id);
        if (known.sees == nullptr) continue; // drawn by chance: tests of their own
        for (const std::vector<double>& values : valuesToTry(*part)) {
            const std::string term = termText(*part, values);
            if (part->mask.prepare != nullptr) {
                try {
                    part->mask.prepare({part->params, values});
                } catch (const Error&) {
                    CHECK_THROWS_AS(MaskExpression::parse(term), Error);
                    continue; // a list that does not fit the other values
                }
            }
            const auto mask = MaskExpression::parse(term);
            const Arguments arguments = wholeNumbers(values);
            for (const auto& [queries, keys] : kSizes) {
                const MaskSize size{.queries = queries, .keys = keys};
                BitRow row;
                for (int64_t i = 0; i < queries; ++i) {
                    mask.row(size, i, row);
                    for (int64_t j = 0; j < keys; ++j)
                        if (row.test(j) != known.sees(arguments, i, j))
                            FAIL(term << " at " << queries << " x " << keys << ": cell " << i << ", " << j);
                }
            }
        }
    }
    SUCCEED();
}

TEST_CASE("mask terms: a value beyond the limits of any parameter is refused by name", "[attention]") {
    int tried = 0;
    for (const Part* part : termsOfCells())
        for (size_t p = 0; p < part->params.size(); ++p) {
            const Param& param = part->params[p];
            for (double value : {param.minimum - 1, param.maximum + param.step}) {
                std::vector<double> values = initialValues(*part);
                values[p] = value;
                CAPTURE(termText(*part, values));
                CHECK_THROWS_WITH(MaskExpression::parse(termText(*part, values)),
                                  CONTAINS(std::string(param.id) + " of " + std::string(part->id)) &&
                                      CONTAINS("out of its range"));
                ++tried;
            }
        }
    CHECK(tried > 60);
}

TEST_CASE("mask terms: what each begins with draws a picture that is neither empty nor full", "[attention]") {
    for (const Part* part : termsOfCells()) {
        const std::string picture = pictureOf(termText(*part, initialValues(*part)), square(16));
        CAPTURE(part->id, picture);
        CHECK(picture.find('#') != std::string::npos);
        CHECK((picture.find('.') == std::string::npos) == (part->id == "full"));
    }
}

TEST_CASE("mask terms: the limits of the random ones are drawn too", "[attention]") {
    for (const Part* part : termsOfCells()) {
        if (!part->isRandom) continue;
        for (const std::vector<double>& values : valuesToTry(*part)) {
            const std::string term = termText(*part, values);
            CAPTURE(term);
            CHECK(pictureOf(term, {.queries = 20, .keys = 33}) == pictureOf(term, {.queries = 20, .keys = 33}));
        }
    }
}

TEST_CASE("mask terms: random draws exactly r distinct keys a row, evenly, the same for the same seed", "[attention]") {
    for (int64_t r : {0, 1, 3, 64, 99, 100, 101, 5000}) {
        const std::string term = "random(" + std::to_string(r) + ", 7)";
        for (int64_t count : countsOf(term, square(100))) CHECK(count == std::min<int64_t>(r, 100));
    }
    const std::string one = pictureOf("random(5, 7)", square(50));
    CHECK(one == pictureOf("random(5, 7)", square(50)));
    CHECK(one != pictureOf("random(5, 8)", square(50)));
    CHECK(one != pictureOf("random(5, 4294967295)", square(50)));

    // 4000 rows draw 5 of 20 keys: each key 1000 times, with a standard deviation of sqrt(4000 * 1/4 * 3/4) = 27.
    const auto mask = MaskExpression::parse("random(5, 3)");
    std::vector<int> drawn(20);
    BitRow row;
    for (int64_t query = 0; query < 4000; ++query) {
        mask.row({.queries = 4000, .keys = 20}, query, row);
        row.forEach([&](int64_t key) { ++drawn[static_cast<size_t>(key)]; });
    }
    for (int times : drawn) CHECK(std::abs(times - 1000) < 5 * 27);
}

TEST_CASE("mask terms: BigBird sees its window and its globals, and draws outside of both", "[attention]") {
    // 20 blocks of 4 tokens; the last is cut to 2.
    const int64_t tokens = 78, blocks = 20;
    for (int64_t w : {1, 3, 5, 51})
        for (int64_t g : {0, 1, 3, 30})
            for (int64_t r : {0, 1, 2, 40}) {
                const auto mask = MaskExpression::parse("bigbird(4, " + std::to_string(w) + ", " + std::to_string(g) +
                                                        ", " + std::to_string(r) + ", 11)");
                BitRow row;
                for (int64_t i = 0; i < tokens; ++i) {
                    mask.row(square(tokens), i, row);
                    const int64_t p = i / 4;
                    int64_t drawn = 0, free = 0;
                    for (int64_t q = 0; q < blocks; ++q) {
                        const bool isFixed = p < g || q < g || std::abs(p - q) <= (w - 1) / 2;
                        const bool isSeen = row.test(4 * q);
                        for (int64_t j = 4 * q; j < std::min(4 * q + 4, tokens); ++j)
                            if (row.test(j) != isSeen) FAIL("block " << q << " of query " << i << " is torn");
                        if (isFixed && !isSeen) FAIL("query " << i << " misses block " << q);
                        free += isFixed ? 0 : 1;
                        drawn += !isFixed && isSeen ? 1 : 0;
                    }
                    if (drawn != std::min(r, free)) FAIL("query " << i << " draws " << drawn << " blocks");
                }
            }
    SUCCEED();
}

TEST_CASE("mask terms: ETC, Longformer and BigBird have the papers' counts per row", "[attention]") {
    // Longformer: 2w-1 in the window and g global tokens that are not in it; the globals see all.
    const auto longformer = countsOf("longformer(4, 1, 3)", square(64));
    for (size_t i : {0u, 2u}) CHECK(longformer[i] == 64);
    for (size_t i = 7; i < 60; ++i) CHECK(longformer[i] == 2 * 4 - 1 + 3);
    const auto dilated = countsOf("longformer(4, 2, 3)", square(64));
    for (size_t i = 9; i < 58; ++i) CHECK(dilated[i] == 2 * 4 - 1 + 3);

    // ETC: 2r+1 neighbours and g global tokens; the globals see g + long input.
    const auto etc = countsOf("etc(5, 6)", square(64));
    for (size_t i = 0; i < 5; ++i) CHECK(etc[i] == 64);
    for (size_t i = 11; i < 58; ++i) CHECK(etc[i] == 2 * 6 + 1 + 5);
    CHECK(pictureOf("etc(5, 6)", square(40)) == pictureOf("g2g(5) | g2l(5) | l2g(5) | l2l(5, 6)", square(40)));
    const auto pieces = [](const std::string& term) {
        int64_t all = 0;
        for (int64_t count : countsOf(term, square(40))) all += count;
        return all;
    };
    CHECK(pieces("g2g(5)") + pieces("g2l(5)") + pieces("l2g(5)") + pieces("l2l(5, 6)") == pieces("etc(5, 6)"));

    // BigBird: (w + g + r) blocks of b away from the edges.
    const auto bigbird = countsOf("bigbird(4, 3, 2, 3, 9)", square(128));
    for (size_t i = 0; i < 8; ++i) CHECK(bigbird[i] == 128);
    for (size_t i = 12; i < 124; ++i) CHECK(bigbird[i] == (3 + 2 + 3) * 4);
}

TEST_CASE("mask terms: XLNet's streams are the causal mask in the order's own coordinates", "[attention]") {
    const std::vector<int64_t> order{3, 0, 4, 1, 2};
    const auto content = MaskExpression::parse("xlnet(3, 0, 4, 1, 2)"),
               query = MaskExpression::parse("xlnet_query(3, 0, 4, 1, 2)");
    BitRow seen, strict;
    for (int64_t a = 0; a < 5; ++a) {
        content.row(square(5), order[static_cast<size_t>(a)], seen);
        query.row(square(5), order[static_cast<size_t>(a)], strict);
        for (int64_t b = 0; b < 5; ++b) {
            CHECK(seen.test(order[static_cast<size_t>(b)]) == (b <= a));
            CHECK(strict.test(order[static_cast<size_t>(b)]) == (b < a));
        }
    }
    CHECK(pictureOf("xlnet(0)", square(9)) == pictureOf("causal", square(9)));
    std::string backwards = "xlnet(65535";
    for (int token = 65534; token >= 0; --token) backwards += "," + std::to_string(token);
    CHECK(pictureOf(backwards + ")", square(30)) == pictureOf("~causal | window(1)", square(30)));
}

TEST_CASE("mask terms: an order must name each number once", "[attention]") {
    const std::string term = GENERATE("xlnet(", "xlnet_query(", "permuted_blocks(2, ");
    CHECK_THROWS_WITH(MaskExpression::parse(term + "0, 0)"), CONTAINS("0 appears in the order twice; give each "
                                                                      "number from 0 to 1 once"));
    CHECK_THROWS_WITH(MaskExpression::parse(term + "0, 3, 1)"), CONTAINS("3 does not belong in an order of 3"));
}

TEST_CASE("mask terms: any mask can be painted", "[attention]") {
    for (const Part* part : termsOfCells()) {
        const std::string term = termText(*part, initialValues(*part));
        CAPTURE(term);
        const auto mask = MaskExpression::parse(term);
        std::vector<BitRow> rows(19);
        for (int64_t query = 0; query < 19; ++query) mask.row(square(19), query, rows[static_cast<size_t>(query)]);
        const std::string painted = termText(kPaintedMask, paintedValues(rows));
        CHECK(pictureOf(painted, square(19)) == pictureOf(term, square(19)));
    }
}

TEST_CASE("mask recipes: every one parses and draws, and the Sparse Transformer's halves add up to the whole",
          "[attention]") {
    for (const MaskRecipe& recipe : maskRecipes()) {
        CAPTURE(recipe.title);
        const auto mask = MaskExpression::parse(recipe.expression);
        CHECK(mask.text() == recipe.expression);
        CHECK(pictureOf(mask, square(64)).find('#') != std::string::npos);
        CHECK(recipe.source.where.starts_with("section"));
        CHECK_FALSE(recipe.source.title.empty());
    }
    const auto halves = [](size_t interleaved) {
        auto size = square(64);
        const auto mask = MaskExpression::parse(maskRecipes()[interleaved].expression);
        const auto heads = MaskExpression::parse(maskRecipes()[interleaved + 1].expression);
        CHECK(mask.dependsOnLayer());
        CHECK(heads.dependsOnHead());
        const std::string first = pictureOf(mask, size);
        size.layer = 1;
        const std::string second = pictureOf(mask, size);
        std::string both = first;
        for (size_t k = 0; k < both.size(); ++k)
            if (second[k] == '#') both[k] = '#';
        size = {.queries = 64, .keys = 64, .head = 1, .heads = 2};
        CHECK(pictureOf(heads, size) == second);
        CHECK(first != second);
        CHECK(both == pictureOf(std::string(maskRecipes()[interleaved - 1].expression), size));
    };
    halves(1); // strided
    halves(4); // fixed
}
