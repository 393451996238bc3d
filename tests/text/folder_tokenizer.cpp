#include "engine/system/temporary_folder.h"
#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

using namespace attn;
using namespace attn::test;
using nlohmann::json;
using Ids = std::vector<int>;

namespace {

const std::filesystem::path kFolders = ATTN_TEST_DIR "/golden/text/sentence_pieces";

/// A folder with some files, and its tokenizer.
struct Files : TemporaryFolder {
    explicit Files(const std::vector<std::pair<std::string, json>>& files) {
        for (const auto& [name, content] : files) write(name, content);
    }
    void write(const std::string& name, const json& content) const {
        std::ofstream(path() / name, std::ios::binary)
            << (content.is_string() ? content.get<std::string>() : content.dump());
    }
    Tokenizer tokenizer() const { return Tokenizer::ofFolder(path()).value(); }
    Ids ids(const std::string& text) const { return tokenizer().encode(text).ids; }
};

json special(const std::string& content, int id) {
    return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// Letters as a byte-level vocabulary: <s> 0, </s> 1, a 2, b 3, a blank 4, ab 5.
json letters() {
    return {{"added_tokens", {special("<s>", 0), special("</s>", 1)}},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
            {"post_processor", {{"type", "ByteLevel"}}},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model",
             {{"type", "BPE"},
              {"vocab", {{"<s>", 0}, {"</s>", 1}, {"a", 2}, {"b", 3}, {"\u0120", 4}, {"ab", 5}}},
              {"merges", {"a b"}}}}};
}

/// Words as Llama's vocabulary: <s> 0, </s> 1, a sign for a space 2, a 3, b 4, the sign with a 5, the sign with b 6.
/// @param scheme of the sign before a text; null: the older way, a sign before every part
json signs(const json& scheme) {
    const std::string sign = "\u2581";
    json older{{"type", "Sequence"},
               {"normalizers",
                {{{"type", "Prepend"}, {"prepend", sign}},
                 {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", sign}}}}},
        newer{{"type", "Metaspace"}, {"replacement", sign}, {"prepend_scheme", scheme}, {"split", false}};
    return {{"added_tokens", {special("<s>", 0), special("</s>", 1)}},
            {"normalizer", scheme.is_null() ? older : json()},
            {"pre_tokenizer", scheme.is_null() ? json() : newer},
            {"post_processor", nullptr},
            {"decoder",
             {{"type", "Sequence"},
              {"decoders",
               {{{"type", "Replace"}, {"pattern", {{"String", sign}}}, {"content", " "}},
                {{"type", "Fuse"}},
                {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
            {"model",
             {{"type", "BPE"},
              {"vocab", {{"<s>", 0}, {"</s>", 1}, {sign, 2}, {"a", 3}, {"b", 4}, {sign + "a", 5}, {sign + "b", 6}}},
              {"merges", {sign + " a", sign + " b"}}}}};
}

json bert(bool lowercases) {
    json vocabulary;
    for (const char* word :
         {"[UNK]", "[CLS]", "[SEP]", "Caf\u00e9", "caf\u00e9", "cafe", "\u4e16\u754c", "\u4e16", "\u754c"})
        vocabulary[word] = vocabulary.size();
    return {{"added_tokens", json::array()},
            {"normalizer",
             {{"type", "BertNormalizer"},
              {"clean_text", true},
              {"handle_chinese_chars", true},
              {"strip_accents", nullptr},
              {"lowercase", lowercases}}},
            {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
            {"post_processor", {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}}},
            {"decoder", {{"type", "WordPiece"}}},
            {"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", vocabulary}}}};
}

json config(const char* className, json more = json::object()) {
    more["tokenizer_class"] = className;
    return more;
}

} // namespace

TEST_CASE("folder tokenizers: Llama's classes put their own tokens around a text, others those of tokenizer.json",
          "[text]") {
    const auto ids = [](const json& small) {
        return Files({{"tokenizer.json", letters()}, {"tokenizer_config.json", small}}).ids("ab");
    };
    CHECK(ids(config("LlamaTokenizerFast", {{"add_bos_token", true}, {"bos_token", "<s>"}})) == Ids{0, 5});
    CHECK(ids(config("LlamaTokenizer")) == Ids{0, 5}); // what the class does if nothing is said
    CHECK(ids(config("LlamaTokenizer", {{"add_bos_token", false}})) == Ids{5});
    CHECK(ids(config("LlamaTokenizer", {{"add_bos_token", false}, {"add_eos_token", true}})) == Ids{5, 1});
    CHECK(ids(config("CodeLlamaTokenizer", {{"add_eos_token", true}})) == Ids{0, 5, 1});
    CHECK(ids(config("GemmaTokenizer", {{"bos_token", {{"content", "</s>"}}}})) == Ids{1, 5});
    CHECK(ids(config("CohereTokenizerFast", {{"bos_token", "<s>"}})) == Ids{0, 5});
    CHECK(ids(config("GPTNeoXTokenizer", {{"bos_token", "<s>"}})) == Ids{5});
    CHECK(ids(config("GPTNeoXTokenizer", {{"bos_token", "<s>"}, {"add_bos_token", true}})) == Ids{0, 5});
    CHECK(ids(config("LlamaTokenizer", {{"bos_token", "<none>"}})) == Ids{6, 5}); // a new token
    CHECK(ids({{"add_bos_token", true}, {"bos_token", "<s>"}}) == Ids{5});        // no class, and no model_type
    // A model_type means its class.
    const Files llama({{"config.json", {{"model_type", "llama"}}},
                       {"tokenizer.json", letters()},
                       {"tokenizer_config.json", {{"add_eos_token", true}}}});
    CHECK(llama.ids("ab") == Ids{0, 5, 1});
    const Encoding pair = llama.tokenizer().encodePair("a", "b");
    CHECK(pair.ids == Ids{0, 2, 1, 0, 3, 1});
    CHECK(pair.types == Ids{0, 0, 0, 1, 1, 1});
    // A class that does not obey says so.
    const Tokenizer other = Files({{"tokenizer.json", letters()},
                                   {"tokenizer_config.json", config("PreTrainedTokenizerFast",
                                                                    {{"add_bos_token", true}, {"bos_token", "<s>"}})}})
                                .tokenizer();
    CHECK(other.encode("ab").ids == Ids{5});
    REQUIRE(other.warnings().size() == 1);
    CHECK_THAT(other.warnings().front(),
               CONTAINS("add_bos_token") && CONTAINS("the tokens around a text are those of tokenizer.json"));
    const Tokenizer words =
        Files({{"vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n"},
               {"tokenizer_config.json", config("BertTokenizer", {{"add_bos_token", true}, {"bos_token", "[CLS]"}})}})
            .tokenizer();
    REQUIRE(words.warnings().size() == 1);
    CHECK_THAT(words.warnings().front(), CONTAINS("the tokens around a text are those of vocab.txt"));
}

TEST_CASE("folder tokenizers: BERT's classes write case, accents and ideographs again", "[text]") {
    const auto ids = [](bool lowercases, const json& small, const std::string& text) {
        return Files({{"tokenizer.json", bert(lowercases)}, {"tokenizer_config.json", small}}).ids(text);
    };
    const std::string text = "Caf\u00e9";
    CHECK(ids(true, config("BertTokenizer", {{"do_lower_case", false}}), text) == Ids{1, 3, 2});
    CHECK(ids(false, config("BertTokenizerFast", {{"do_lower_case", true}}), text) == Ids{1, 5, 2});
    CHECK(ids(false, config("DistilBertTokenizer", {{"strip_accents", false}}), text) == Ids{1, 4, 2});
    CHECK(ids(true, config("ElectraTokenizer", {{"do_lower_case", true}}), text) == Ids{1, 5, 2});
    CHECK(ids(true, config("PreTrainedTokenizerFast", {{"do_lower_case", false}}), text) == Ids{1, 5, 2});
    CHECK(ids(true, config("BertTokenizer", {{"tokenize_chinese_chars", false}}), "\u4e16\u754c") == Ids{1, 6, 2});
    CHECK(ids(true, config("BertTokenizer"), "\u4e16\u754c") == Ids{1, 7, 8, 2});
    CHECK(Files({{"tokenizer.json", bert(false)}}).ids(text) == Ids{1, 3, 2}); // without the small file
}

TEST_CASE("folder tokenizers: without tokenizer_config.json the class of the model_type decides, as with an empty one",
          "[text]") {
    const auto ids = [](const json& tokenizer, const char* type, const std::string& text) {
        const Files absent({{"config.json", {{"model_type", type}}}, {"tokenizer.json", tokenizer}});
        const Ids found = absent.ids(text);
        absent.write("tokenizer_config.json", json::object());
        CHECK(absent.ids(text) == found);
        return found;
    };
    CHECK(ids(bert(false), "bert", "Caf\u00e9") == Ids{1, 5, 2}); // the class lowercases
    CHECK(ids(letters(), "llama", "ab") == Ids{0, 5});            // and puts <s> before a text
    json spaced = letters();
    spaced["pre_tokenizer"]["add_prefix_space"] = true;
    CHECK(ids(spaced, "gpt2", "ab") == Ids{5});
    CHECK(ids(spaced, "llama", "ab") == Ids{0, 4, 5}); // which leaves the blank to tokenizer.json
    CHECK(ids(spaced, "no such type", "ab") == Ids{4, 5});
    CHECK(Files({{"tokenizer.json", spaced}}).ids("ab") == Ids{4, 5});
    // A model that this program trained follows its tokenizer.json.
    CHECK(
        Files({{"config.json", {{"model_type", "gpt2"}}}, {"tokenizer.json", spaced}, {"recipe.json", json::object()}})
            .ids("ab") == Ids{4, 5});
}

TEST_CASE("folder tokenizers: a class says whether a blank begins a text, and GPT-NeoX's puts nothing around it",
          "[text]") {
    json spaced = letters();
    spaced["pre_tokenizer"]["add_prefix_space"] = true;
    spaced["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"pair", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
        {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}}}}};
    const auto ids = [&](const char* name, const json& more = json::object()) {
        return Files({{"tokenizer.json", spaced}, {"tokenizer_config.json", config(name, more)}}).ids("ab");
    };
    CHECK(ids("GPTNeoXTokenizer") == Ids{5});
    CHECK(ids("GPTNeoXTokenizerFast", {{"add_prefix_space", true}}) == Ids{4, 5});
    CHECK(ids("GPTNeoXTokenizer", {{"add_bos_token", true}, {"bos_token", "<s>"}}) == Ids{0, 5});
    for (const char* name :
         {"PreTrainedTokenizerFast", "CodeGenTokenizer", "BloomTokenizerFast", "DebertaTokenizerFast", "GPT2Tokenizer",
          "RobertaTokenizer", "BartTokenizer", "LEDTokenizer", "LongformerTokenizer"}) {
        CAPTURE(name);
        CHECK(ids(name) == Ids{0, 5});
        CHECK(ids(name, {{"add_prefix_space", true}}) == Ids{0, 4, 5});
    }
    CHECK(ids("BlenderbotTokenizer") == Ids{0, 4, 5});
}

TEST_CASE("folder tokenizers: SentencePiece's space before a text follows tokenizer_config.json, or is named",
          "[text]") {
    struct Read {
        Ids ids;
        std::string text, warnings;
        bool operator==(const Read&) const = default;
    };
    const auto read = [&](const json& document, const char* name, const json& more) {
        const Tokenizer tokenizer =
            Files({{"tokenizer.json", document}, {"tokenizer_config.json", config(name, more)}}).tokenizer();
        const Ids ids = tokenizer.encode("a</s>b", false).ids;
        std::string warnings;
        for (const std::string& each : tokenizer.warnings()) warnings += each;
        return Read{ids, tokenizer.decode(ids, true), warnings};
    };
    const Read each{{5, 1, 6}, "a b", ""}, first{{5, 1, 4}, "ab", ""}, none{{3, 1, 4}, "ab", ""};
    const json older = signs(nullptr), no = {{"add_prefix_space", false}};
    CHECK(read(older, "LlamaTokenizer", json::object()) == each);
    CHECK(read(signs("first"), "LlamaTokenizer", json::object()) == first);
    // Llama's class makes its steps again if add_prefix_space is there.
    for (const json& document : {older, signs("always"), signs("first"), signs("never")}) {
        CAPTURE(document.dump());
        for (const json& legacy : {json(), json(true), json(false)}) {
            CAPTURE(legacy.dump());
            CHECK(read(document, "LlamaTokenizerFast", {{"add_prefix_space", false}, {"legacy", legacy}}) == none);
            if (!legacy.is_null())
                CHECK(read(document, "LlamaTokenizer", {{"add_prefix_space", true}, {"legacy", legacy}}) ==
                      (legacy == true ? each : first));
        }
    }
    CHECK(read(older, "LlamaTokenizer", {{"add_prefix_space", true}}) == each);
    CHECK(read(signs("first"), "LlamaTokenizer", {{"add_prefix_space", true}}) == first);
    CHECK(read(signs("never"), "LlamaTokenizer", {{"add_prefix_space", nullptr}, {"legacy", false}}).ids == none.ids);
    CHECK(read(signs("first"), "T5Tokenizer", no).ids == none.ids);
    CHECK(read(signs("never"), "T5Tokenizer", {{"add_prefix_space", true}, {"legacy", true}}).ids == each.ids);
    // A step that cuts at spaces would leave the next one no spaces to sign.
    json words = signs("always");
    words["pre_tokenizer"] = {{"type", "Sequence"},
                              {"pretokenizers", {{{"type", "WhitespaceSplit"}}, words["pre_tokenizer"]}}};
    const auto idsOfWords = [&](const json& small) {
        return Files({{"tokenizer.json", words}, {"tokenizer_config.json", config("T5Tokenizer", small)}}).ids("a b");
    };
    CHECK(idsOfWords(json::object()) == Ids{5, 6});
    CHECK(idsOfWords({{"add_prefix_space", true}, {"legacy", false}}) == Ids{5, 6});
    CHECK(idsOfWords(no) == Ids{3, 6});
    // Alone, legacy changes nothing in the reference either, so that nothing is said of it, as of Llama-2's folders.
    for (const bool legacy : {true, false}) {
        CHECK(read(older, "LlamaTokenizer", {{"legacy", legacy}}) == each);
        CHECK(read(signs("first"), "LlamaTokenizer", {{"legacy", legacy}}) == first);
    }
    // Other classes follow tokenizer.json.
    const Read named = read(older, "PreTrainedTokenizerFast", no);
    CHECK(named.ids == each.ids);
    CHECK_THAT(named.warnings, CONTAINS("says \"add_prefix_space\": false, which PreTrainedTokenizer does not obey: "
                                        "tokenizer.json puts a space before a text"));
    CHECK_THAT(read(signs("never"), "GemmaTokenizer", {{"add_prefix_space", true}}).warnings,
               CONTAINS("tokenizer.json puts no space before a text"));
    json sequence = letters();
    sequence["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {sequence["pre_tokenizer"]}}};
    const auto warnings = [&](const json& small) {
        return Files({{"tokenizer.json", sequence}, {"tokenizer_config.json", small}}).tokenizer().warnings();
    };
    CHECK(warnings(config("Qwen2Tokenizer", no)).empty());
    CHECK(warnings(config("Qwen2Tokenizer", {{"add_prefix_space", true}})).size() == 1);
    const Files pieces({});
    std::filesystem::copy(kFolders / "camembert", pieces.path());
    pieces.write("tokenizer_config.json", config("CamembertTokenizer", no));
    REQUIRE(pieces.tokenizer().warnings().size() == 1);
    CHECK_THAT(pieces.tokenizer().warnings().front(), CONTAINS("sentencepiece.bpe.model puts a space before a text"));
}

TEST_CASE("folder tokenizers: extra special tokens are special, with or without names", "[text]") {
    const auto tokens = [](const json& extra, const json& more = json::array()) {
        return Files({{"tokenizer.json", letters()},
                      {"tokenizer_config.json", R"({"additional_special_tokens": )" + more.dump() +
                                                    R"(, "extra_special_tokens": )" + extra.get<std::string>() + "}"}})
            .tokenizer();
    };
    for (const char* extra : {R"(["<z>", {"content": "<img>", "lstrip": true}])",
                              R"({"z_token": "<z>", "image_token": {"content": "<img>", "lstrip": true}})"}) {
        CAPTURE(extra);
        const Tokenizer tokenizer = tokens(extra, {"<more>"});
        CHECK(tokenizer.encode("a <img>b<z>", false).ids == Ids{2, 8, 3, 7}); // the order of the file
        CHECK(tokenizer.idOf("<more>") == 6);
        CHECK(tokenizer.isSpecial(8));
        CHECK(tokenizer.decode(Ids{2, 8, 3, 7}, true) == "ab");
        CHECK(tokenizer.vocabularySize() == 9);
    }
    CHECK(tokens(R"({"a_token": "<x>", "b_token": "ab", "a_token": "<y>"})").idOf("<y>") == 6);
    CHECK(tokens(R"({"b_token": "ab"})").isSpecial(5));
    CHECK(tokens("null").vocabularySize() == 6);
    const json names{{"z_token", "<z>"}};
    CHECK(Files({{"tokenizer.json", letters()}, {"tokenizer_config.json", {{"model_specific_special_tokens", names}}}})
              .tokenizer()
              .isSpecial(6));
    CHECK(Files({{"tokenizer.json", letters()}, {"special_tokens_map.json", {{"extra_special_tokens", names}}}})
              .tokenizer()
              .isSpecial(6));
    CHECK(refuses([&] { tokens("3"); }, "extra_special_tokens"));
    CHECK(refuses([&] { tokens(R"({"a": 3})"); }, "extra_special_tokens"));
}

TEST_CASE("folder tokenizers: added and named tokens come from the files in transformers' order", "[text]") {
    const auto added = [](const json& small) { return std::pair<std::string, json>("tokenizer_config.json", small); };
    const std::pair<std::string, json> letter("tokenizer.json", letters());
    const json decoder{{"6", {{"content", "<x>"}, {"special", true}}}, {"7", {{"content", "bb"}}}};
    const Files own({letter, added({{"added_tokens_decoder", decoder}}), {"added_tokens.json", {{"aa", 6}}}});
    CHECK(own.ids("a<x>bb") == Ids{2, 6, 7});
    CHECK(own.ids("aa") == Ids{2, 2}); // added_tokens.json does not count beside added_tokens_decoder
    CHECK(own.tokenizer().isSpecial(6));
    CHECK_FALSE(own.tokenizer().isSpecial(7));
    const Files older({letter, {"added_tokens.json", {{"aa", 6}, {"<pad>", 7}}}, added({{"pad_token", "<pad>"}})});
    CHECK(older.ids("aa<pad>") == Ids{6, 7});
    CHECK(older.tokenizer().isSpecial(7));
    // Without added_tokens_decoder, special_tokens_map.json goes before tokenizer_config.json.
    const Files map({letter,
                     added(config("LlamaTokenizer", {{"bos_token", "<s>"}})),
                     {"special_tokens_map.json", {{"bos_token", {{"content", "</s>"}}}}}});
    CHECK(map.ids("ab") == Ids{1, 5});
    json with = config("LlamaTokenizer", {{"bos_token", "<s>"}, {"added_tokens_decoder", decoder}});
    map.write("tokenizer_config.json", with);
    CHECK(map.ids("ab") == Ids{0, 5});
    // Flags of the small files replace those of tokenizer.json.
    CHECK(Files({letter,
                 added({{"added_tokens_decoder", {{"0", {{"content", "<s>"}, {"lstrip", true}, {"special", true}}}}}})})
              .ids("a <s>b") == Ids{2, 0, 3});
    CHECK(Files({letter}).ids("a <s>b") == Ids{2, 4, 0, 3});
    const Files roles({letter, added({{"mask_token", "ab"}, {"eos_token", "a"}})});
    CHECK(roles.tokenizer().maskId() == 5);
    CHECK(roles.tokenizer().endId() == 2);
    CHECK(Files({letter, added({{"split_special_tokens", true}})}).ids("<s>") != Ids{0});
    CHECK(Files({letter, added({{"clean_up_tokenization_spaces", true}})}).tokenizer().decode(Ids{4, 2, 4, 3}, true) ==
          " a b");
    CHECK(Files({letter, added(config("GPT2Tokenizer", {{"add_prefix_space", true}}))}).ids("ab") == Ids{4, 5});
}

TEST_CASE("folder tokenizers: a token beyond the model's table is named with its file", "[text]") {
    const auto titles = [](const char* file, const json& content) {
        const Tokenizer tokenizer = Files({{"tokenizer.json", letters()}, {file, content}}).tokenizer();
        CHECK(tokenizer.whatExceeds(7).empty());
        CHECK(Tokenizer::titleOf(&tokenizer, 5) == "token 5 (\"ab\" in tokenizer.json)");
        CHECK(tokenizer.whatExceeds(6) ==
              "the tokenizer has 7 tokens but the model only 6, without " + Tokenizer::titleOf(&tokenizer, 6));
        CHECK(tokenizer.whatExceeds(5).ends_with("only 5, without token 5 (\"ab\" in tokenizer.json)"));
        return Tokenizer::titleOf(&tokenizer, 6);
    };
    const json added = special("<new>", 6);
    CHECK(titles("added_tokens.json", {{"<new>", 6}}) == "token 6 (\"<new>\" in added_tokens.json)");
    CHECK(titles("special_tokens_map.json", {{"mask_token", "<new>"}}) ==
          "token 6 (\"<new>\" in special_tokens_map.json)");
    CHECK(titles("tokenizer_config.json", {{"added_tokens_decoder", {{"6", added}}}}) ==
          "token 6 (\"<new>\" in tokenizer_config.json)");
    CHECK(Tokenizer::titleOf(nullptr, 6) == "token 6");
}

TEST_CASE("folder tokenizers: spaces before punctuation go where tokenizer_config.json wants it", "[text]") {
    json words = letters();
    json vocabulary;
    for (const char* word : {"We", "Ġdo", "Ġn't", "Ġ.", "Ġ'", "Ġ's", "Ġ", "Ġ,", "é", "x", "Ġ!"})
        vocabulary[word] = vocabulary.size();
    words["added_tokens"] = json::array();
    words["model"] = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}};
    const Files folder(
        {{"tokenizer.json", words}, {"tokenizer_config.json", {{"clean_up_tokenization_spaces", true}}}});
    const Tokenizer tokenizer = folder.tokenizer();
    CHECK(tokenizer.decode(Ids{0, 1, 2, 1, 3}, true) == "We don't do.");
    CHECK(tokenizer.decode(Ids{0, 4, 6, 9}, true) == "We'x");
    uint32_t state = 1;
    for (int round = 0; round < 300; ++round) {
        Ids ids;
        for (int i = 0; i < 12; ++i) ids.push_back(static_cast<int>((state = state * 1664525 + 1013904223) >> 16) % 11);
        StreamDecoder stream(tokenizer, true);
        std::string pieces;
        for (const int id : ids) pieces += stream.push(id);
        pieces += stream.finish();
        CHECK(pieces == tokenizer.decode(ids, true));
    }
    folder.write("tokenizer_config.json", json::object());
    CHECK(folder.tokenizer().decode(Ids{0, 3}, true) == "We .");
}

TEST_CASE("folder tokenizers: a text that begins with the token before every text is noticed", "[text]") {
    const Tokenizer tokenizer =
        Files({{"tokenizer.json", letters()}, {"tokenizer_config.json", config("LlamaTokenizer")}}).tokenizer();
    CHECK(tokenizer.beginsTwice(tokenizer.encode("<s>ab").ids));
    CHECK_FALSE(tokenizer.beginsTwice(tokenizer.encode("ab<s>").ids));
    CHECK_FALSE(tokenizer.beginsTwice(tokenizer.encode("<s>ab", false).ids));
}

TEST_CASE("folder tokenizers: vocab.json and merges.txt are GPT-2's, RoBERTa's or Qwen2's", "[text]") {
    const json vocabulary{
        {"<s>", 0},    {"<pad>", 1},  {"</s>", 2}, {"<unk>", 3},          {"a", 4},        {"b", 5}, {"ab", 6},
        {"\u0120", 7}, {"<mask>", 8}, {"1", 9},    {"<|endoftext|>", 10}, {"\u0120ab", 11}};
    const std::string merges = "#version: 0.2\na b\n\u0120 ab\n";
    const auto folder = [&](const char* type) {
        return Files({{"config.json", {{"model_type", type}}}, {"vocab.json", vocabulary}, {"merges.txt", merges}});
    };
    CHECK(folder("gpt2").ids("ab ab") == Ids{6, 11});
    CHECK(folder("roberta").ids("ab <mask>") == Ids{0, 6, 8, 2}); // the mask takes the blank before it
    CHECK(folder("bart").tokenizer().encodePair("a", "b").ids == Ids{0, 4, 2, 2, 5, 2});
    CHECK(folder("qwen2").ids("a11<|endoftext|>") == Ids{4, 9, 9, 10});
    CHECK(folder("gpt2").tokenizer().endId() == 10);
    const Files bos = folder("gpt2");
    bos.write("tokenizer_config.json", {{"add_bos_token", true}, {"bos_token", "</s>"}});
    CHECK(bos.ids("ab") == Ids{2, 6}); // as OPT
    const Files other = folder("roberta");
    other.write("tokenizer_config.json", config("BlenderbotSmallTokenizer"));
    CHECK(refuses([&] { other.tokenizer(); }, "a tokenizer of the class BlenderbotSmallTokenizer is not supported"));
    const Files words({{"config.json", {{"model_type", "roberta"}}}, {"vocab.txt", "a\nb\n"}});
    CHECK(refuses([&] { words.tokenizer(); }, "a list of words is not enough for a tokenizer of the class Roberta"));
}

TEST_CASE("folder tokenizers: SentencePiece files give the ids of the model that the folder names", "[text]") {
    const json golden = json::parse(std::ifstream(kFolders / "more.json"));
    const std::vector<std::string> texts = golden.at("texts");
    const auto compare = [&](const std::string& name, const Tokenizer& tokenizer) {
        for (size_t i = 0; i < texts.size(); ++i) {
            CAPTURE(name, texts[i]);
            const Encoding encoding = tokenizer.encode(texts[i]);
            CHECK(encoding.ids == golden.at(name).at(i).get<Ids>());
            for (const ByteRange& range : encoding.ranges)
                CHECK((range.begin <= range.end && range.end <= texts[i].size()));
        }
    };
    for (const char* name : {"camembert", "xlnet", "llama"})
        compare(name, Tokenizer::ofFolder(kFolders / name).value());
    const TemporaryFolder lower;
    std::filesystem::copy(kFolders / "xlnet", lower.path());
    std::ofstream(lower.path() / "tokenizer_config.json") << R"({"do_lower_case": true})";
    compare("xlnet_lower", Tokenizer::ofFolder(lower.path()).value());

    const Tokenizer xlnet = Tokenizer::ofFolder(kFolders / "xlnet").value();
    const Encoding pair = xlnet.encodePair("the", "King");
    CHECK(pair.types.front() == 0);
    CHECK(pair.types.back() == 2);
    CHECK(xlnet.maskId() == xlnet.idOf("<mask>"));
    const Tokenizer llama = Tokenizer::ofFolder(kFolders / "llama").value();
    for (const char* text : {"The King", "  two blanks", "\u4e16\u754c \U0001f600"})
        CHECK(llama.decode(llama.encode(text).ids, true) == text);
    CHECK(llama.encode("King</s>King").ids.size() == 2 * llama.encode("King", false).ids.size() + 2);

    // The kind is what the folder says, never the name of the file.
    const TemporaryFolder unnamed;
    std::filesystem::copy(kFolders / "camembert/sentencepiece.bpe.model", unnamed.path() / "spiece.model");
    CHECK(refuses([&] { Tokenizer::ofFolder(unnamed.path()); }, "may belong to tokenizers of several kinds"));
    std::ofstream(unnamed.path() / "config.json") << R"({"model_type": "camembert"})";
    CHECK(Tokenizer::ofFolder(unnamed.path())->encode("the").ids ==
          Tokenizer::ofFolder(kFolders / "camembert")->encode("the").ids);
    std::ofstream(unnamed.path() / "tokenizer_config.json") << R"({"tokenizer_class": "MBart50Tokenizer"})";
    CHECK(refuses([&] { Tokenizer::ofFolder(unnamed.path()); }, "class MBart50Tokenizer is not supported"));
}

TEST_CASE(
    "folder tokenizers: special tokens get the ids behind the vocabulary, and more than 1 MiB of them are refused",
    "[text]") {
    const TemporaryFolder folder;
    std::filesystem::copy(kFolders / "llama", folder.path());
    const auto write = [&](int count, const std::string& begin) {
        json tokens = json::array();
        for (int i = 0; i < count; ++i) tokens.push_back(begin + std::to_string(i) + ">");
        std::ofstream(folder.path() / "tokenizer_config.json")
            << config("LlamaTokenizer", {{"additional_special_tokens", tokens}}).dump();
    };
    const int first = Tokenizer::ofFolder(kFolders / "llama")->vocabularySize();
    constexpr int kMany = 20'000;
    write(kMany, "<a");
    const Tokenizer tokenizer = Tokenizer::ofFolder(folder.path()).value();
    for (const int i : {0, 1, kMany - 1}) CHECK(tokenizer.idOf("<a" + std::to_string(i) + ">") == first + i);
    CHECK(tokenizer.vocabularySize() == first + kMany);
    write(1100, std::string(1000, '<'));
    CHECK(refuses([&] { Tokenizer::ofFolder(folder.path()); }, "the files add more than 1048576 bytes of tokens"));
    write(1, std::string(1100, '<'));
    CHECK(refuses([&] { Tokenizer::ofFolder(folder.path()); }, "the files add a token of 1102 bytes; at most 1024"));
}
