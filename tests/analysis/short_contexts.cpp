#include "engine/analysis/head_kinds.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/storage_effects.h"
#include "engine/core/error.h"
#include "tests/analysis/small_model.h"
#include "tests/io/files.h"
#include "tests/support/catch.h"

// Models so small that a question has no answer.

using namespace attn;
using namespace attn::test;

namespace {

std::unique_ptr<LanguageModel> ofContext(int64_t context) {
    return modelOf(smallDecoder(AttentionSpec::parse("heads=multi_head(2), mask=causal"), context));
}

/// A tokenizer of one token for each letter. @param special how many of them are no text
std::shared_ptr<const Tokenizer> letters(int count, int special) {
    std::string vocabulary, added;
    for (int id = 0; id < count; ++id) {
        const std::string letter(1, static_cast<char>('a' + id)), number = std::to_string(id);
        vocabulary += (id > 0 ? ", \"" : "\"") + letter + "\": " + number;
        if (id < special)
            added +=
                (id > 0 ? ", " : "") + ("{\"id\": " + number) + ", \"content\": \"" + letter + "\", \"special\": true}";
    }
    const std::string document = R"({"version": "1.0", "added_tokens": [)" + added +
                                 R"(], "model": {"type": "BPE", "merges": [], "vocab": {)" + vocabulary + "}}}";
    const TemporaryFolder folder;
    writeFile(folder / "tokenizer.json", document);
    return std::make_shared<Tokenizer>(Tokenizer::load(folder / "tokenizer.json"));
}

} // namespace

TEST_CASE("short contexts: a model of one token has no loss of the next", "[analysis][gpu]") {
    const AnalysisContext three{.input = std::vector<int>{1, 2, 3}}, one{.input = std::vector<int>{1}};
    CHECK_THROWS_WITH(TokenScoresAnalysis().run(*ofContext(1), three), CONTAINS("one token at a time"));
    CHECK_NOTHROW(TokenScoresAnalysis().run(*ofContext(1), one));
    for (const int64_t context : {2, 3, 4}) {
        const auto found = std::static_pointer_cast<TokenScores>(TokenScoresAnalysis().run(*ofContext(context), three));
        CHECK(found->loss.size() == 3);
    }
}

TEST_CASE("short contexts: formats of weights are compared, without a rate where there is no room", "[analysis][gpu]") {
    for (const int64_t context : {3, 6, 16, 24, 25}) {
        INFO(context);
        const auto found = std::static_pointer_cast<StorageEffects>(
            StorageEffectsAnalysis().run(*ofContext(context), {.input = std::vector<int>{1, 2, 3}}));
        REQUIRE_FALSE(found->effects.empty());
        CHECK((found->effects.front().perSecond > 0) == (context > 5));
    }
}

TEST_CASE("detectors: a vocabulary of special tokens is refused", "[analysis][gpu]") {
    const ModelSpec config = smallDecoder(AttentionSpec::parse("heads=multi_head(2), mask=causal"), 64);
    CHECK_THROWS_WITH(HeadDetectionAnalysis().run(*modelOf(config, letters(12, 12)), {}), CONTAINS("too small"));
    CHECK_THROWS_WITH(HeadDetectionAnalysis().run(*modelOf(config, letters(12, 8)), {}), CONTAINS("too small"));
}
