#include "engine/system/temporary_folder.h"
#include "engine/text/tokenizer_files.h"
#include "tests/io/mutator.h"
#include "tests/support/answers.h"
#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

using namespace attn;
using attn::test::refuses;
using nlohmann::json;

namespace {

json smallJson() {
    return json::parse(std::ifstream(std::filesystem::path(ATTN_TEST_DIR) / "text/small_tokenizer.json"));
}

/// The message of the Error that a text gives in the place of a tokenizer.json.
std::string complaintAbout(const std::string& text) {
    try {
        Tokenizer::fromJson(text, "folder/tokenizer.json");
    } catch (const Error& error) {
        CHECK(error.where() == "folder/tokenizer.json");
        CHECK_FALSE(error.hint().empty());
        return error.message();
    }
    return "no error";
}

} // namespace

TEST_CASE("tokenizer errors: a damaged field and what is not supported are named", "[text]") {
    for (const char* group : {"damaged fields", "what is not supported"})
        test::checkAnswers("text/errors.json", group, [](const std::string& patch) {
            return complaintAbout(smallJson().patch(json::parse(patch)).dump());
        });
}

TEST_CASE("tokenizer errors: a file that is no tokenizer", "[text]") {
    test::checkAnswers("text/errors.json", "files that are no tokenizer", complaintAbout);
    CHECK(complaintAbout("{\"model\": \"\xFF\"}").find("not valid JSON") != std::string::npos);
    std::string deep(200'000, '[');
    CHECK(complaintAbout("{\"model\": {\"vocab\": {\"a\": " + deep + std::string(deep.size(), ']') + "}}}") ==
          "the file nests its JSON more than 64 deep");
    CHECK(complaintAbout(deep) == "the file nests its JSON more than 64 deep"); // before it is read to its end
    CHECK(refuses([&] { Tokenizer::load("no/such/tokenizer.json"); }, "no/such/tokenizer.json: there is no such file"));
    CHECK(refuses([&] { Tokenizer::load(std::filesystem::temp_directory_path()); }, "is not a file"));
}

TEST_CASE("tokenizer errors: text that is not UTF-8 is refused with the place", "[text]") {
    const Tokenizer tokenizer = Tokenizer::fromJson(smallJson().dump());
    for (const auto& [text, place] :
         std::vector<std::pair<std::string, std::string>>{{"ab\xFF", "byte 2 (0xFF)"},
                                                          {"\xC0\x80", "byte 0 (0xC0)"},
                                                          {"a\xED\xA0\x80", "byte 1 (0xED)"},
                                                          {"abc\xE4\xB8", "byte 3 (0xE4)"},
                                                          {"\xF4\x90\x80\x80", "byte 0 (0xF4)"},
                                                          {"\xE0\x9F\xBF", "byte 0 (0xE0)"}})
        CHECK(refuses([&, text = text] { tokenizer.encode(text); }, place + " is not UTF-8; save the text as UTF-8"));
    json lacksUnknown = smallJson();
    lacksUnknown["model"]["unk_token"] = "<unk>";
    CHECK(refuses([&] { Tokenizer::fromJson(lacksUnknown.dump()).encode("z"); }, "the unknown token \"<unk>\""));
}

TEST_CASE("tokenizer errors: an expression that runs away ends in an error", "[text]") {
    json document = smallJson();
    document["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(a+)+$"}}}, {"behavior", "Isolated"}};
    CHECK(refuses([&] { Tokenizer::fromJson(document.dump()).encode(std::string(60, 'a') + "!"); },
                  "fails at byte 0 of 61"));
}

TEST_CASE("tokenizer errors: mutated files load or are refused, never more", "[text]") {
    test::Mutator mutator(2024);
    std::vector<std::string> sources{smallJson().dump(), test::goldenCase("end_of_word").tokenizer};
    for (const char* name : {"llama3", "added_in_sentencepiece", "digit_runs", "strip_both", "roberta", "bert_uncased"})
        sources.push_back(test::goldenTokenizerWith(name, "model", smallJson()["model"].dump()));
    sources.push_back(test::goldenTokenizerWith(
        "flan_t5", "model",
        R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["\u2581", -3], ["a", -2.5], ["ab", -1]]})"));
    size_t loaded = 0;
    for (int round = 0; round < 20'000; ++round) {
        const std::string text = mutator(sources[mutator.below(sources.size())]);
        try {
            const Tokenizer tokenizer = Tokenizer::fromJson(text);
            ++loaded;
            const Encoding encoding = tokenizer.encode("ab  <s> A1\u00e9e\u0301z <left>b!");
            CHECK(encoding.ids.size() == encoding.ranges.size());
            tokenizer.decode(encoding.ids, mutator.below(2) == 0);
            StreamDecoder stream(tokenizer, false);
            for (int i = 0; i < 20; ++i) stream.push(static_cast<int>(mutator.below(40)) - 2);
            stream.finish();
            tokenizer.tokenText(static_cast<int>(mutator.below(10)));
        } catch (const Error& error) {
            CHECK_FALSE(error.hint().empty());
        }
    }
    CHECK(loaded > 1000);
}

TEST_CASE("tokenizer files: fields of tokenizer_config.json that change tokens and are not obeyed are named",
          "[text]") {
    const auto warnings = [](const json& small) {
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "tokenizer_config.json") << small.dump();
        return TokenizerFiles(folder.path()).warnings();
    };
    using Warnings = std::vector<std::string>;
    // What ordinary folders hold: Llama-2's, BERT's, T5's and Marian's.
    CHECK(warnings({{"tokenizer_class", "LlamaTokenizer"},
                    {"add_bos_token", true},
                    {"add_eos_token", false},
                    {"bos_token", "<s>"},
                    {"chat_template", "{{ messages }}"},
                    {"clean_up_tokenization_spaces", false},
                    {"legacy", false},
                    {"model_max_length", 4096},
                    {"pad_token", nullptr},
                    {"padding_side", "right"},
                    {"sp_model_kwargs", json::object()},
                    {"spaces_between_special_tokens", false},
                    {"use_default_system_prompt", false}})
              .empty());
    CHECK(warnings({{"tokenizer_class", "BertTokenizer"},
                    {"do_basic_tokenize", true},
                    {"do_lower_case", true},
                    {"mask_token", "<s>"},
                    {"max_length", 128},
                    {"name_or_path", "bert"},
                    {"never_split", nullptr},
                    {"special_tokens_map_file", "map.json"},
                    {"strip_accents", nullptr},
                    {"tokenize_chinese_chars", true},
                    {"truncation_strategy", "longest_first"}})
              .empty());
    CHECK(warnings({{"extra_ids", 100},
                    {"model_input_names", {"input_ids"}},
                    {"return_tensors", "pt"},
                    {"separate_vocabs", false},
                    {"source_lang", "en"},
                    {"target_lang", "de"},
                    {"tokenizer_file", "tokenizer.json"},
                    {"trim_offsets", true},
                    {"new_field", nullptr}})
              .empty());
    CHECK(warnings({{"src_lang", "eng_Latn"}, {"tgt_lang", nullptr}, {"fix_mistral_regex", true}}) ==
          Warnings{"tokenizer_config.json: this program does not obey fix_mistral_regex, src_lang"});
    CHECK(warnings({{"cuts_words", 2}, {"task", "transcribe"}}) ==
          Warnings{"tokenizer_config.json: this program does not obey task and does not know cuts_words"});
}
