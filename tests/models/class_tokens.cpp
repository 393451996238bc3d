#include "tests/models/model_folder.h"

#include "engine/models/generation_rules.h"
#include "engine/models/model_source.h"

// The values are those of transformers' classes, as their files write them.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

using Ids = std::vector<int>;

/// Of a config.json whose numbers are read from its text, as in a file.
GenerationRules rulesOf(const json& fields, int64_t vocabulary = 60000, const char* own = nullptr) {
    const TemporaryFolder folder;
    if (own != nullptr) writeFile(folder / "generation_config.json", own);
    return GenerationRules::read(folder.path(), json::parse(fields.dump()), vocabulary);
}

} // namespace

TEST_CASE("class tokens: a text ends as in transformers where config.json does not say how", "[models]") {
    const std::vector<std::pair<const char*, Ids>> ends{
        {"gpt2", {50256}}, {"gpt_neo", {50256}}, {"gpt_neox", {2}}, {"llama", {2}},
        {"mistral", {2}},  {"qwen2", {}},        {"bert", {}},      {"distilbert", {}},
        {"roberta", {2}},  {"xlm-roberta", {2}}, {"xlnet", {2}},    {"t5", {1}},
        {"mt5", {1}},      {"bart", {2}},        {"marian", {0}},   {"attention-lab", {}}};
    for (const auto& [type, end] : ends) {
        INFO(type);
        CHECK(rulesOf({{"model_type", type}}).stopTokens == end);
        CHECK(rulesOf({{"model_type", type}, {"eos_token_id", nullptr}}).stopTokens.empty());
        CHECK(rulesOf({{"model_type", type}, {"eos_token_id", {7, 8}}}).stopTokens == Ids{7, 8});
        CHECK(rulesOf({{"model_type", type}}, 60000, "{}").stopTokens.empty()); // the file of its own says all
        CHECK(rulesOf({{"model_type", type}}, 60000, R"({"eos_token_id": 9})").stopTokens == Ids{9});
    }
    CHECK(rulesOf({{"model_type", "gpt2"}}, 50256).stopTokens.empty()); // no token of the vocabulary
    CHECK(rulesOf({{"model_type", 3}}).stopTokens.empty());
    CHECK(rulesOf({{"model_type", "bart"}, {"force_bos_token_to_be_generated", true}}).firstToken == 0);
    CHECK(
        rulesOf({{"model_type", "bart"}, {"force_bos_token_to_be_generated", true}, {"bos_token_id", 5}}).firstToken ==
        5);
    CHECK(rulesOf({{"model_type", "marian"}}).lastTokens == Ids{0});
}

TEST_CASE("class tokens: ids that are no tokens are named once for each field", "[models]") {
    json many = json::array();
    for (int id = 0; id < 100; ++id) many.push_back(id);
    const GenerationRules rules = rulesOf({{"model_type", "llama"}, {"suppress_tokens", many}}, 50);
    CHECK(rules.suppressed.size() == 50);
    REQUIRE(rules.warnings.size() == 1);
    CHECK_THAT(rules.warnings.front(),
               CONTAINS("\"suppress_tokens\" is [50,51,52,") && CONTAINS("not tokens of the 50 in the vocabulary"));
}

TEST_CASE("class tokens: sequences with an id that is no token are named by it and its limit", "[models]") {
    const GenerationRules one = rulesOf({{"bad_words_ids", json::parse("[[3], [4, 60], [5, 6]]")}}, 50);
    CHECK(one.barred == std::vector<Ids>{{3}, {5, 6}});
    CHECK(one.warnings ==
          std::vector<std::string>{
              "config.json: \"bad_words_ids\" has 60, not a token of the 50 in the vocabulary, whose ids "
              "end at 49; sequences with it do not count"});
    CHECK_THAT(rulesOf({{"bad_words_ids", json::parse("[[-1], [50, 51]]")}}, 50).warnings.at(0),
               CONTAINS("has [-1,50,51], not tokens of the 50") && CONTAINS("sequences with them do not count"));
    for (const char* wrong : {"3", "[3, 4]", "[[\"a\"]]", "[[]]"}) {
        const GenerationRules rules = rulesOf({{"bad_words_ids", json::parse(wrong)}}, 50);
        REQUIRE(rules.warnings.size() == 1);
        CHECK_THAT(rules.warnings.front(), CONTAINS("not a list of lists of tokens"));
    }
    // The end of a text may stand in the other file.
    CHECK_THAT(rulesOf({{"eos_token_id", 60}}, 50, "{}").warnings.at(0),
               CONTAINS("config.json: \"eos_token_id\" is 60") && !CONTAINS("generation_config"));
}

TEST_CASE("class tokens: the least number of new tokens counts before the least length, as in transformers",
          "[models]") {
    const GenerationRules both = rulesOf({}, 50, R"({"min_length": 20, "min_new_tokens": 3})");
    CHECK(both.minNewTokens == 3);
    CHECK(both.minLength == 0);
    CHECK(rulesOf({}, 50, R"({"min_length": 20, "min_new_tokens": 0})").minLength == 0);
    CHECK(rulesOf({}, 50, R"({"min_length": 20, "min_new_tokens": null})").minLength == 20);
    const GenerationRules wrong = rulesOf({}, 50, R"({"min_length": 20, "min_new_tokens": "x"})");
    CHECK(wrong.minLength == 20);
    CHECK(wrong.warnings.size() == 1);
}

TEST_CASE("class tokens: what a generation_config.json asks for and this program does not obey is named", "[models]") {
    const auto warningsOf = [](const json& own) { return rulesOf({}, 50, own.dump().c_str()).warnings; };
    using Warnings = std::vector<std::string>;
    CHECK(warningsOf({{"bos_token_id", 1},
                      {"eos_token_id", 2},
                      {"pad_token_id", 0},
                      {"do_sample", true},
                      {"temperature", 0.6},
                      {"top_k", 5},
                      {"min_p", 0.1},
                      {"use_cache", true},
                      {"transformers_version", "4.57.0"},
                      {"_from_model_config", true},
                      {"cache_implementation", "hybrid"},
                      {"typical_p", 1},
                      {"num_beam_groups", 1},
                      {"renormalize_logits", true},
                      {"stop_strings", nullptr},
                      {"new_field", nullptr},
                      {"new_switch", false},
                      {"forced_decoder_ids", json::array()}})
              .empty());
    CHECK(
        warningsOf({{"typical_p", 0.9}, {"cache_implementation", "quantized"}, {"new_field", 2}}) ==
        Warnings{"generation_config.json: this program does not obey cache_implementation, typical_p and does not know "
                 "new_field"});
    json many;
    for (int i = 10; i < 30; ++i) many["field" + std::to_string(i)] = i;
    REQUIRE(warningsOf(many).size() == 1);
    CHECK_THAT(warningsOf(many).front(), CONTAINS("know field10, field11,") && CONTAINS("field21 and 8 more"));
    // What config.json has besides is no rule of writing.
    CHECK(rulesOf({{"new_field", 2}, {"typical_p", 0.9}}).warnings ==
          Warnings{"config.json: this program does not obey typical_p"});
}

TEST_CASE("class tokens: a model that does not say its end or its start has those of its class", "[models]") {
    const auto open = [](const char* model, std::initializer_list<const char*> fields) {
        ModelFolder folder(model);
        folder.edit("config.json", [&](json& config) {
            for (const char* field : fields) config.erase(field);
        });
        return openModelSource(folder.path().string());
    };
    CHECK(open("llama", {"eos_token_id"})->stopTokens() == Ids{2});
    CHECK(open("t5", {"eos_token_id"})->stopTokens() == Ids{1});
    CHECK(open("gpt2", {"eos_token_id"})->stopTokens().empty()); // 61 tokens
    CHECK(open("bart", {"decoder_start_token_id"})->config().startToken == 2);
    CHECK(open("marian", {"decoder_start_token_id"})->config().startToken == 40); // the last: there is no token 58100
    CHECK(open("t5", {"decoder_start_token_id"})->config().startToken == 0);
    CHECK(open("roberta", {"pad_token_id"})->config().tokens.paddingToken == 1);
    ModelFolder folder("qwen2");
    folder.edit("config.json", [](json& config) { config.erase("eos_token_id"); });
    CHECK(openModelSource(folder.path().string())->stopTokens().empty());
}
