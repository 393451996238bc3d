#include "engine/inference/token_limits.h"

#include "engine/core/error.h"
#include "engine/inference/beam_search.h"
#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "tests/models/model_folder.h"
#include "tests/support/catch.h"

#include <cmath>
#include <limits>

using namespace attn;
using Ids = std::vector<int>;

TEST_CASE("token limits: rules bar and force tokens as transformers does", "[inference]") {
    const GenerationRules rules{.stopTokens = {2},
                                .firstToken = 0,
                                .lastTokens = {2},
                                .barred = {{7}, {3, 4}, {5, 6, 8}},
                                .suppressed = {9},
                                .suppressedFirst = {1},
                                .minLength = 3};
    const auto at = [&](const Ids& tokens, size_t most = 20) { return tokenLimits(rules, tokens, 1, most); };
    CHECK(at({2}).only == Ids{0});
    CHECK(at({2, 0}).barred == Ids{1, 2, 7, 9}); // the first free token, and the text is too short to end
    CHECK(at({2, 0, 3}).barred == Ids{4, 7, 9});
    for (const auto& [token, field] : {std::pair(1, "begin_suppress_tokens"),
                                       {2, "min_length"},
                                       {7, "bad_words_ids"},
                                       {9, "suppress_tokens"},
                                       {3, ""}})
        CHECK(at({2, 0}).fieldAgainst(token) == field);
    CHECK(at({2}).fieldAgainst(3) == "forced_bos_token_id");
    CHECK(at({2}).fieldAgainst(0).empty());
    CHECK(at({2, 5, 6}).barred == Ids{7, 8, 9});
    CHECK(at({2, 6, 5}).barred == Ids{7, 9});
    CHECK(at({2, 0, 3}, 4).only == Ids{2}); // the last token of a full text
    CHECK(at({2, 0, 3}, 3).only.empty());
    const GenerationRules free{.repeatFree = 2};
    CHECK(tokenLimits(free, Ids{1, 2, 3, 1}, 1, 20).barred == Ids{2});
    CHECK(tokenLimits(free, Ids{1}, 1, 20).barred.empty());
    CHECK(tokenLimits(GenerationRules{.stopTokens = {2}, .minNewTokens = 2}, Ids{5, 5, 5}, 2, 20).barred == Ids{2});
    CHECK(mostTokens({.maxLength = 9, .maxNewTokens = 3}, 4, 100) == 7);
    CHECK(mostTokens({.maxLength = 9}, 4, 8) == 8);

    const std::vector<float> logits{3, 2, 1, 0};
    CHECK(sampleToken(logits, {}, {}, 0, {.barred = {0, 1}}).token == 2);
    CHECK(sampleToken(logits, {}, {}, 0, {.only = {3}}).token == 3);
    CHECK(sampleToken(logits, {.greedy = false, .seed = 4}, {}, 0, {.only = {3}}).probability == 1);
    const auto ranked = rankCandidates(logits, {.greedy = false}, {}, -1, {.barred = {0}});
    CHECK(ranked.front().token == 1);
    CHECK(ranked.front().probability > 0.665f); // 0.6652: e / (e + 1 + 1/e)
    CHECK(ranked.back().probability == 0);
    CHECK_THROWS(sampleToken(logits, {}, {}, 0, {.barred = {0, 1, 2, 3}}));
}

TEST_CASE("token limits: generation_config.json goes before config.json, and what is not obeyed is named",
          "[inference]") {
    test::ModelFolder folder("bart");
    folder.edit("config.json", [](nlohmann::json& json) {
        json["eos_token_id"] = 2;
        json["forced_bos_token_id"] = 5;
    });
    const auto open = [&] { return openModelSource(folder.path().string()); };
    CHECK(open()->generation().firstToken == 5);
    test::writeFile(folder / "generation_config.json",
                    R"({"eos_token_id": [2, 4], "decoder_start_token_id": 3, "bad_words_ids": [[1], [2], [5, 6]],
                        "do_sample": true, "temperature": 0.5, "typical_p": 0.9, "num_beams": "four"})");
    const auto source = open();
    const GenerationRules& rules = source->generation();
    CHECK(source->stopTokens() == Ids{2, 4});
    CHECK_FALSE(rules.firstToken);                        // the field of config.json does not count beside the file
    CHECK(rules.barred == std::vector<Ids>{{1}, {5, 6}}); // a text may always end
    CHECK(source->config().startToken == 3);
    REQUIRE(rules.choice);
    CHECK_FALSE(rules.choice->greedy);
    CHECK(rules.choice->text() == "temperature 0.5, top-k 50");
    REQUIRE(source->warnings().size() == 2);
    CHECK(source->warnings()[0].find("\"num_beams\" is \"four\"") != std::string::npos);
    CHECK(source->warnings()[1].find("does not obey typical_p") != std::string::npos);
    test::writeFile(folder / "generation_config.json", "{");
    CHECK(open()->generation().firstToken == 5);
    CHECK(open()->warnings().front().find("generation_config.json cannot be read") != std::string::npos);
}

TEST_CASE("token limits: a beam search writes what the rules force and nothing that they bar", "[inference]") {
    test::ModelFolder folder("bart");
    const auto search = [&](const std::string& rules) {
        test::writeFile(folder / "generation_config.json", rules);
        LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
        model.setSides({.source = Ids{0, 5, 6, 7, 2}});
        model.feed(Ids{2});
        return beamSearch(model, {.width = 3, .maxTokens = 4});
    };
    const int free = search("{}").hypotheses.front().tokens.front();
    for (
        const Hypothesis& each :
        search(
            R"({"eos_token_id": 2, "forced_bos_token_id": 0, "forced_eos_token_id": 2, "bad_words_ids": [[7], [0, 9]]})")
            .hypotheses) {
        CHECK(each.tokens.front() == 0);
        CHECK(each.tokens.back() == 2);
        CHECK(std::ranges::count(each.tokens, 7) == 0);
    }
    for (const Hypothesis& each : search("{\"suppress_tokens\": [" + std::to_string(free) + "]}").hypotheses)
        CHECK(std::ranges::count(each.tokens, free) == 0);
}

TEST_CASE("token limits: a beam search counts p among the tokens that are left where the folder asks for it",
          "[inference]") {
    test::ModelFolder folder("bart");
    const auto search = [&](const std::string& rules) {
        test::writeFile(folder / "generation_config.json", rules);
        LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
        CHECK(model.source().warnings().empty());
        model.setSides({.source = Ids{0, 5, 6, 7, 2}});
        model.feed(Ids{2});
        return beamSearch(model, {.width = 3, .maxTokens = 1}).hypotheses;
    };
    const Hypothesis best = search("{}").front();
    const std::string bars = "{\"suppress_tokens\": [" + std::to_string(best.tokens.front()) + "]";
    const auto plain = search(bars + "}"), again = search(bars + ", \"renormalize_logits\": true}");
    REQUIRE(plain.size() == again.size());
    REQUIRE_FALSE(plain.empty());
    for (size_t i = 0; i < plain.size(); ++i) {
        CHECK(again[i].tokens == plain[i].tokens);
        CHECK(again[i].logProbability ==
              Approx(plain[i].logProbability - std::log1p(-std::exp(best.logProbability))).margin(1e-6)); // float64
    }
}

TEST_CASE("token limits: a tokenizer that cannot be read leaves the model, which takes ids", "[inference]") {
    const test::ModelFolder folder("gpt2");
    for (const char* broken : {"{\"model\": {\"type\": \"Chars\"}}", "{", "[]"}) {
        test::writeFile(folder / "tokenizer.json", broken);
        LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
        CHECK(model.tokenizer() == nullptr);
        CHECK_FALSE(model.info().hasTokenizer);
        CHECK(model.info().tokenizerProblem.find("tokenizer.json") != std::string::npos);
        model.feed(Ids{1, 2});
        CHECK(model.tokens().size() == 2);
    }
}

TEST_CASE("sampling: logits with a NaN or an infinity choose no token", "[inference]") {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    const auto refusal = [](const std::vector<float>& logits) {
        std::string said;
        for (const Sampling& sampling :
             {Sampling{.greedy = true}, Sampling{.greedy = true, .repetitionPenalty = 2}, Sampling{.topK = 1}}) {
            INFO(sampling.greedy << sampling.repetitionPenalty);
            try {
                sampleToken(logits, sampling, Ids{1}, 0);
                FAIL("a token was chosen");
            } catch (const Error& error) {
                CHECK((said.empty() || said == error.what()));
                said = error.what();
            }
        }
        return said;
    };
    CHECK_THAT(refusal({1, kNaN, 3}), CONTAINS("1 of 3 logits are NaN or infinite"));
    CHECK_THAT(refusal({kNaN, kNaN, 3}), CONTAINS("2 of 3 logits are NaN or infinite"));
    CHECK_THAT(refusal({kNaN, kNaN}), CONTAINS("2 of 2 logits are NaN or infinite"));
    CHECK_THAT(refusal({1, kInfinity}), CONTAINS("1 of 2 logits are NaN or infinite"));
    CHECK_THAT(refusal({-kInfinity, -kInfinity}), CONTAINS("2 of 2 logits are NaN or infinite"));
    CHECK(sampleToken(std::vector<float>{-kInfinity, 2, 1}, {.greedy = true}, {}, 0).token == 1);
}
