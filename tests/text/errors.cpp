#include "engine/core/error.h"
#include "engine/text/tokenizer.h"
#include "tests/support/catch.h"
#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <random>

using namespace attn;
using attn::test::refuses;
using nlohmann::json;

namespace {

json smallJson() {
    return json::parse(R"({"version": "1.0", "added_tokens": [{"id": 4, "content": "<s>", "special": true}],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\s"}, "behavior": "Isolated", "invert": false},
                                                                {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"}]},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                           "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "_"}, "content": " "}, {"type": "ByteFallback"},
                                                     {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 1}]},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<0x41>": 3}, "merges": ["a b"], "unk_token": "a", "byte_fallback": true}})");
}

/// The message of the Error that a change to the small tokenizer causes.
template <class Change> std::string complaint(const Change& change) {
    json document = smallJson();
    change(document);
    try {
        Tokenizer::fromJson(document.dump(), "folder/tokenizer.json");
    } catch (const Error& error) {
        CHECK(error.where() == "folder/tokenizer.json");
        CHECK_FALSE(error.hint().empty());
        return error.message();
    }
    return "no error";
}

std::string complaintAbout(const std::string& text) {
    try {
        Tokenizer::fromJson(text, "tokenizer.json");
    } catch (const Error& error) {
        CHECK_FALSE(error.hint().empty());
        return error.message();
    }
    return "no error";
}

} // namespace

TEST_CASE("tokenizer errors: a damaged field is named", "[text]") {
    CHECK(complaint([](json&) {}) == "no error");
    CHECK(complaint([](json& j) { j.erase("model"); }) == "\"model\" is missing");
    CHECK(complaint([](json& j) { j["model"].erase("vocab"); }) == "\"model\" lacks \"vocab\"");
    CHECK(complaint([](json& j) { j["model"].erase("merges"); }) == "\"model\" lacks \"merges\"");
    CHECK(complaint([](json& j) { j["model"]["vocab"] = json::array(); }) == "\"model.vocab\" is array, not an object");
    CHECK(complaint([](json& j) { j["model"]["vocab"]["a"] = -1; }) ==
          "\"model.vocab\" gives token \"a\" the id -1, not a whole number from 0 to 2097151");
    CHECK(complaint([](json& j) { j["model"]["vocab"]["a"] = 4000000000u; }).find("the id 4000000000") !=
          std::string::npos);
    CHECK(complaint([](json& j) { j["model"]["vocab"]["a"] = "x"; }).find("the id string") != std::string::npos);
    CHECK(complaint([](json& j) { j["model"]["merges"].push_back("a c"); }) ==
          "\"model.merges[1]\" needs token \"c\", which is not in the vocabulary");
    CHECK(complaint([](json& j) { j["model"]["merges"].push_back("abc"); }) ==
          "\"model.merges[1]\" is \"abc\", not two tokens with a space between");
    CHECK(complaint([](json& j) {
              j["model"]["merges"].push_back({"a", "b", "c"});
          }) == "\"model.merges[1]\" has 3 parts, not 2");
    CHECK(complaint([](json& j) { j["model"]["merges"].push_back(7); }) == "\"model.merges[1]\" is number, not text");
    CHECK(complaint([](json& j) { j["model"]["fuse_unk"] = "yes"; }) ==
          "\"model.fuse_unk\" is string, not true or false");
    CHECK(complaint([](json& j) { j["model"]["dropout"] = 0.1; }) == "\"model.dropout\" makes the ids random");
    CHECK(complaint([](json& j) { j["added_tokens"][0].erase("content"); }) == "\"added_tokens[0]\" lacks \"content\"");
    CHECK(complaint([](json& j) { j["post_processor"]["special_tokens"].erase("<s>"); }).find("names <s>") !=
          std::string::npos);
    CHECK(complaint([](json& j) { j["post_processor"]["single"].erase(1); }) ==
          "\"post_processor\" has no place for the text");
    CHECK(complaint([](json& j) {
              j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Sideways";
          }).find("Sideways") != std::string::npos);
    CHECK(complaint([](json& j) { j["decoder"]["decoders"][3]["start"] = -1; }).find("is -1, not a whole number") !=
          std::string::npos);
}

TEST_CASE("tokenizer errors: what is not supported is named with what is", "[text]") {
    CHECK(complaint([](json& j) { j["model"]["type"] = "Unigram"; }) ==
          "\"model\" is of type Unigram, which is not supported");
    CHECK(complaint([](json& j) {
              j["normalizer"] = {{"type", "NFKC"}};
          }) == "\"normalizer\" is a normalizer of type NFKC, which is not supported");
    CHECK(complaint([](json& j) {
              j["pre_tokenizer"]["pretokenizers"][1]["type"] = "UnicodeScripts";
          }).find("type UnicodeScripts") != std::string::npos);
    CHECK(complaint([](json& j) {
              j["decoder"] = {{"type", "CTC"}};
          }).find("decoder of type CTC") != std::string::npos);
    CHECK(complaint([](json& j) {
              j["post_processor"] = {{"type", "Other"}};
          }).find("post-processor of type Other") != std::string::npos);
    CHECK(complaint([](json& j) {
              j["normalizer"]["normalizers"][1]["pattern"]["Regex"] = "(a";
          }).find("\"normalizer.normalizers[1].pattern.Regex\" is unusable") == 0);
    CHECK(complaint([](json& j) {
              j["normalizer"]["normalizers"][1]["pattern"]["Regex"] = "[a&&[b]]";
          }).find("combines character classes") != std::string::npos);
    json nested = {{"type", "NFC"}};
    for (int i = 0; i < 20; ++i) nested = {{"type", "Sequence"}, {"normalizers", json::array({nested})}};
    CHECK(complaint([&](json& j) { j["normalizer"] = nested; }).find("nested more than 8 deep") != std::string::npos);
}

TEST_CASE("tokenizer errors: a file that is no tokenizer", "[text]") {
    CHECK(complaintAbout("") == "the file is empty");
    CHECK(complaintAbout("version https://git-lfs.github.com/spec/v1\noid sha256:0\n").find("Git-LFS pointer") !=
          std::string::npos);
    CHECK(complaintAbout("{\"model\": {").find("not valid JSON at line 1, column 1") != std::string::npos);
    CHECK(complaintAbout("[1, 2]") == "is array, not an object");
    CHECK(complaintAbout("{\"model\": 1e999}") == "the file holds a number that is too large");
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
    std::mt19937 random(2024);
    const auto below = [&](size_t limit) { return limit == 0 ? size_t{0} : random() % limit; };
    std::vector<std::string> sources{smallJson().dump(), test::goldenCase("end_of_word").tokenizer};
    for (const char* name : {"llama3", "added_in_sentencepiece", "digit_runs", "strip_both", "roberta", "bert_uncased"})
        sources.push_back(test::goldenTokenizerWith(name, "model", smallJson()["model"].dump()));
    const std::vector<std::string> fragments{"null", "-1",   "1e9", "[]",          "{}",
                                             "\"\"", "true", "\\",  "\"\\u0000\"", "(",
                                             "[",    "*",    "^",   "\\\\p{L}",    "99999999999999999999",
                                             ","};
    size_t loaded = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = sources[below(sources.size())];
        for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
            const size_t at = below(text.size()), length = std::min(1 + below(8), text.size() - at);
            switch (below(6)) {
            case 0:
                text[at] = static_cast<char>(static_cast<unsigned char>(random()));
                break;
            case 1:
                text.erase(at, length);
                break;
            case 2:
                text.insert(at, text, below(text.size()), 1 + below(20));
                break;
            case 3:
                text.replace(at, length, fragments[below(fragments.size())]);
                break;
            case 4:
                text[at] = static_cast<char>(0x20 + below(0x5F));
                break;
            default:
                if (below(10) == 0) text.resize(at);
                break;
            }
        }
        try {
            const Tokenizer tokenizer = Tokenizer::fromJson(text);
            ++loaded;
            const Encoding encoding = tokenizer.encode("ab  <s> A1\u00e9e\u0301z <left>b!");
            CHECK(encoding.ids.size() == encoding.ranges.size());
            tokenizer.decode(encoding.ids, below(2) == 0);
            StreamDecoder stream(tokenizer, false);
            for (int i = 0; i < 20; ++i) stream.push(static_cast<int>(below(40)) - 2);
            stream.finish();
            tokenizer.tokenText(static_cast<int>(below(10)));
        } catch (const Error& error) {
            CHECK_FALSE(error.hint().empty());
        }
    }
    CHECK(loaded > 1000);
}
