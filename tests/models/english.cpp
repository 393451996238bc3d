#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "engine/models/model_source.h"
#include "tests/support/catch.h"

#include <array>

// What the window relies on when it opens builtin:english first.

using namespace attn;

namespace {

std::vector<std::string> piecesOf(const Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::string> pieces;
    for (const int id : tokenizer.encode(text).ids) pieces.push_back(tokenizer.decode(std::array{id}, false));
    return pieces;
}

LanguageModel openEnglish() { return {openModelSource("builtin:english"), {.device = {.validation = true}}}; }

} // namespace

TEST_CASE("builtin:english: the words of a classroom sentence are whole", "[models]") {
    const auto source = openModelSource("builtin:english");
    CHECK(piecesOf(*source->tokenizer(), "The teacher gave the book to the student") ==
          std::vector<std::string>{"The", " teacher", " gave", " the", " book", " to", " the", " student"});
    CHECK(piecesOf(*source->tokenizer(), "When Anna opened the door, she saw her brother.") ==
          std::vector<std::string>{"When", " Anna", " opened", " the", " door", ",", " she", " saw", " her", " brother",
                                   "."});
}

TEST_CASE("builtin:english: accents, emoji, new lines and quotes survive", "[models]") {
    const auto source = openModelSource("builtin:english");
    for (const char* text :
         {"é", "🙂", "naïve café 🙂", "two\nlines\n\n", "\"Yes,\" she said. “No,” ‘he’ said."}) {
        CAPTURE(text);
        CHECK(source->tokenizer()->decode(source->tokenizer()->encode(text).ids, false) == text);
    }
}

TEST_CASE("builtin:english: it reads 512 tokens and does not know for certain how its example continues",
          "[models][gpu]") {
    LanguageModel model = openEnglish();
    CHECK(model.info().contextLength == 512);
    CHECK(model.info().parameterCount >= 2'000'000);
    CHECK(model.info().parameterCount <= 6'000'000);
    REQUIRE(model.feed(model.tokenizer()->encode(model.source().example()).ids));
    const std::vector<Candidate> best = rankCandidates(model.logits(), {}, {}, 5);
    CHECK(best[0].probability > 0.10f);
    CHECK(best[0].probability < 0.50f);
    CHECK(best[4].probability > 0.02f); // five sensible words
}
