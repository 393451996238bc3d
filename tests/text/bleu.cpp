#include "engine/text/bleu.h"
#include "tests/support/catch.h"

#include <cmath>

using namespace attn;
using Tokens = std::vector<std::string>;

namespace {

Bleu bleuOf(const Tokens& translations, const Tokens& references) { return corpusBleu(translations, references); }

constexpr double kRounding = 1e-9; ///< percent; sums and logarithms of a few doubles

} // namespace

TEST_CASE("bleu: a word counts as often as the reference has it", "[text]") {
    // Papineni et al. 2002, example 2: a modified precision of 2/7 with the first reference, and of 1/7 with the
    // second.
    const Tokens translation{"the the the the the the the"};
    CHECK(std::abs(bleuOf(translation, {"the cat is on the mat"}).precisions[0] - 200.0 / 7) < kRounding);
    CHECK(std::abs(bleuOf(translation, {"there is a cat on the mat"}).precisions[0] - 100.0 / 7) < kRounding);
}

TEST_CASE("bleu: the two candidates of the paper with their first reference", "[text]") {
    // Papineni et al. 2002, example 1; the counts are made by hand and the scores by a script that is independent.
    const Tokens reference{"It is a guide to action that ensures that the military will forever heed Party commands."};
    const Bleu good = bleuOf(
        {"It is a guide to action which ensures that the military always obeys the commands of the party."}, reference);
    CHECK(good.length == 19);
    CHECK(good.referenceLength == 17);
    CHECK(good.brevityPenalty == 1);
    CHECK(std::abs(good.precisions[0] - 1200.0 / 19) < kRounding);
    CHECK(std::abs(good.precisions[1] - 800.0 / 18) < kRounding);
    CHECK(std::abs(good.precisions[2] - 600.0 / 17) < kRounding);
    CHECK(std::abs(good.precisions[3] - 400.0 / 16) < kRounding);
    CHECK(std::abs(good.score - 39.67088290836578) < kRounding);

    const Bleu poor =
        bleuOf({"It is to insure the troops forever hearing the activity guidebook that party direct."}, reference);
    CHECK(std::abs(poor.precisions[0] - 700.0 / 15) < kRounding);
    CHECK(std::abs(poor.precisions[1] - 100.0 / 14) < kRounding);
    CHECK(std::abs(poor.precisions[2] - 100.0 / 2 / 13) < kRounding); // no match: 1/2 of one, then 1/4
    CHECK(std::abs(poor.precisions[3] - 100.0 / 4 / 12) < kRounding);
    CHECK(std::abs(poor.brevityPenalty - std::exp(1 - 17.0 / 15)) < kRounding);
    CHECK(std::abs(poor.score - 6.2915855898775845) < kRounding);
}

TEST_CASE("bleu: n-grams are counted over all texts, as an independent script counts them", "[text]") {
    const Bleu english = bleuOf({"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
                                {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."});
    CHECK(std::abs(english.score - 23.932595221309676) < kRounding);
    CHECK(std::abs(english.brevityPenalty - 0.8890097654027757) < kRounding);
    const Bleu german = bleuOf({"Der Hund läuft über die Straße.", "Es kostet 1,50 Euro."},
                               {"Der Hund läuft schnell über die Straße.", "Das kostet 1,50 Euro, bitte."});
    CHECK(std::abs(german.score - 37.45057049314444) < kRounding);
    CHECK(std::abs(bleuOf({"the cat sat on a mat today"}, {"the dog sat in a hat again"}).score - 8.643019616048525) <
          kRounding);
    CHECK(std::abs(bleuOf({"a b c", "a b c d e"}, {"a b c", "a b c d x"}).score - 72.31269021297696) < kRounding);
}

TEST_CASE("bleu: equal texts have 100, and texts that share nothing or are too short have 0", "[text]") {
    const Tokens equal{"Wir gehen heute ins Kino.", "世界 ist groß , oder ?"};
    CHECK(std::abs(bleuOf(equal, equal).score - 100) < kRounding);
    CHECK(bleuOf({"one two three four five"}, {"eins zwei drei vier fünf"}).score == 0);
    CHECK(bleuOf({"a b c"}, {"a b c"}).score == 0); // no sequence of 4 tokens
    CHECK(bleuOf({""}, {"a b c d"}).brevityPenalty == 0);
    CHECK(bleuOf({}, {}).score == 0);
    CHECK(bleuOf({"THE CAT SAT DOWN"}, {"the cat sat down"}).score == 0); // case matters
}

TEST_CASE("bleu: punctuation is a token of its own, but not inside numbers", "[text]") {
    CHECK(bleuTokens("Er sagt: \"3,5-mal (1.000 Euro), oder?\" Na ja...") ==
          Tokens{"Er", "sagt", ":",    "\"", "3,5", "-",  "mal", "(", "1.000", "Euro",
                 ")",  ",",    "oder", "?",  "\"",  "Na", "ja",  ".", ".",     "."});
    CHECK(bleuTokens("a&amp;b &lt;br&gt; &amp;lt; can't x-y 10-20 -5") ==
          Tokens{"a", "&", "b", "<", "br", ">", "<", "can't", "x-y", "10", "-", "20", "-5"});
    CHECK(bleuTokens("end of line-\nbroken\nhere-\n") == Tokens{"end", "of", "linebroken", "here-"});
    CHECK(bleuTokens("U.S. 5. .5 5.5 a.b") == Tokens{"U", ".", "S", ".", "5", ".", ".", "5", "5.5", "a", ".", "b"});
    CHECK(bleuTokens("naïve…世界。 $5\u00A050%") == Tokens{"naïve…世界。", "$", "5", "50", "%"});
    CHECK(bleuTokens(" \t ").empty());
}
