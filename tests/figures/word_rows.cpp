#include "app/figures/word_rows.h"
#include "tests/support/catch.h"

using namespace attn;

namespace {

TokenInfo token(const char* text, bool isSpecial = false) { return {.text = text, .isSpecial = isSpecial}; }

std::vector<QString> labels(std::initializer_list<TokenInfo> tokens) {
    return wordRows(std::vector<TokenInfo>(tokens)).labels;
}

} // namespace

TEST_CASE("words: pieces join, and special tokens and punctuation stand alone", "[figures]") {
    using Labels = std::vector<QString>;
    CHECK(labels({token("<s>", true), token(" three"), token(" hund"), token("red"), token("."),
                  token("</s>", true)}) == Labels{"<s>", "three", "hundred", ".", "</s>"});
    CHECK(labels({token("un"), token("##believ"), token("##able")}) == Labels{"unbelievable"});
    CHECK(labels({token(" don"), token("'"), token("t"), token(" go")}) == Labels{"don", "'", "t", "go"});
    CHECK(labels({token(" drei"), token("hundert"), token("zw"), token("ölf")}) == Labels{"dreihundertzwölf"});
    CHECK(labels({}).empty());
}

TEST_CASE("words: a key's pieces are added and a query's are averaged, so rows sum to 1", "[figures]") {
    const std::vector<TokenInfo> queries{token(" a"), token("b"), token(" c")};
    const std::vector<TokenInfo> keys{token(" x"), token(" y"), token("z"), token("w")};
    const PatternTile tile{.rows = 3,
                           .columns = 4,
                           .queryEnd = 3,
                           .keyEnd = 4,
                           .isCross = true,
                           .values = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.5f, 0, 0, 0.25f, 0.25f, 0.25f, 0.25f}};
    const auto words = wordTile(tile, wordRows(queries), wordRows(keys));
    REQUIRE(words->isExact());
    REQUIRE(words->rows == 2);
    REQUIRE(words->columns == 2);
    CHECK(words->at(0, 0) == Approx(0.3)); // (0.1 + 0.5) / 2
    CHECK(words->at(0, 1) == Approx(0.7)); // (0.9 + 0.5) / 2
    CHECK(words->at(1, 0) == Approx(0.25));
    CHECK(words->at(1, 1) == Approx(0.75));
}
