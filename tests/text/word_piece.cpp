#include "engine/system/temporary_folder.h"
#include "tests/text/text_test.h"

using namespace attn;
using namespace attn::test;
using Ids = std::vector<int>;

namespace {

Tokenizer bertGolden(const std::string& name) { return Tokenizer::fromJson(goldenCase(name).tokenizer, name); }

} // namespace

TEST_CASE("tokenizer: pairs of texts get the tokens and types that Hugging Face gives them", "[text]") {
    size_t pairs = 0;
    for (const TextGolden& each : textGoldens()) {
        if (each.pairs.empty()) continue;
        const Tokenizer tokenizer = bertGolden(each.name);
        for (const TextGolden::Pair& pair : each.pairs) {
            CAPTURE(each.name, pair.first, pair.second);
            const Encoding encoding = tokenizer.encodePair(pair.first, pair.second);
            CHECK(encoding.ids == pair.ids);
            CHECK(encoding.types == pair.types);
            ++pairs;
        }
    }
    CHECK(pairs == 55 + 49); // of word pieces and of unigrams
}

TEST_CASE("word pieces: every token covers the bytes that Hugging Face says", "[text]") {
    for (const TextGolden& each : textGoldens()) {
        const Tokenizer tokenizer = bertGolden(each.name);
        for (const TextGolden::Text& text : each.texts) {
            if (text.ranges.empty()) continue;
            CAPTURE(each.name, text.text);
            const Encoding encoding = tokenizer.encode(text.text);
            REQUIRE(encoding.ranges.size() == text.ranges.size());
            for (size_t i = 0; i < encoding.ids.size(); ++i) {
                CAPTURE(i, tokenizer.tokenText(encoding.ids[i]), encoding.ranges[i].begin, encoding.ranges[i].end,
                        text.ranges[i].begin, text.ranges[i].end);
                const bool isOfTemplate = text.ranges[i] == ByteRange{0, 0}; // ours stand where the text begins or ends
                const ByteRange &ours = encoding.ranges[i], &theirs = text.ranges[i];
                // The library gives a letter that was composed one of its parts, and a letter that was inserted its
                // neighbour. Ours have all parts, and nothing.
                const bool isInserted = ours.begin == ours.end && ours.begin == theirs.begin,
                           isWider = ours.begin <= theirs.begin && ours.end >= theirs.end,
                           isChanged = each.name.starts_with("parts_") && (isInserted || isWider);
                CHECK((isOfTemplate ? ours.begin == ours.end : isChanged || ours == theirs));
            }
        }
    }
}

TEST_CASE("word pieces: the ranges of a pair lie in its own texts", "[text]") {
    const Encoding pair = bertGolden("bert_uncased").encodePair("the dogs", "Café?");
    CHECK(pair.types == Ids{0, 0, 0, 0, 0, 1, 1, 1});
    CHECK(pair.texts == Ids{0, 0, 0, 0, 0, 1, 1, 1});
    CHECK(pair.ranges == std::vector<ByteRange>{{0, 0}, {0, 3}, {4, 7}, {7, 8}, {8, 8}, {0, 5}, {5, 6}, {6, 6}});
    CHECK(bertGolden("bert_uncased").encodePair("the dogs", "Café?", false).ids.size() == 5);
    // Without a template in the file, the second text follows the first.
    const Encoding plain = bertGolden("gpt2").encodePair("a", "b");
    CHECK(plain.types == Ids{0, 1});
    CHECK(plain.texts == Ids{0, 1});
}

TEST_CASE("word pieces: vocab.txt and its config give the ids of tokenizer.json", "[text]") {
    size_t read = 0;
    for (const TextGolden& each : textGoldens()) {
        if (each.vocabulary.empty()) continue;
        CAPTURE(each.name);
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "vocab.txt", std::ios::binary) << each.vocabulary;
        std::ofstream(folder.path() / "tokenizer_config.json") << each.config;
        const std::optional<Tokenizer> tokenizer = Tokenizer::ofFolder(folder.path());
        REQUIRE(tokenizer);
        for (const TextGolden::Text& text : each.texts) CHECK(tokenizer->encode(text.text).ids == text.ids);
        for (const TextGolden::Pair& pair : each.pairs)
            CHECK(tokenizer->encodePair(pair.first, pair.second).types == pair.types);
        ++read;
    }
    CHECK(read == 3);
}

TEST_CASE("word pieces: a folder without vocab.txt has no tokenizer, and tokenizer.json wins", "[text]") {
    const TemporaryFolder folder;
    CHECK_FALSE(Tokenizer::ofFolder(folder.path()));
    std::ofstream(folder.path() / "vocab.txt", std::ios::binary) << "[UNK]\r\nold\r\n";
    CHECK(Tokenizer::ofFolder(folder.path())->encode("old new").ids == Ids{1, 0});
    std::ofstream(folder.path() / "tokenizer_config.json") << "{\"do_lower_case\": 3}";
    CHECK(refuses([&] { Tokenizer::ofFolder(folder.path()); }, "tokenizer_config.json: \"do_lower_case\""));
    std::ofstream(folder.path() / "tokenizer.json") << goldenCase("bert_uncased").tokenizer;
    CHECK(Tokenizer::ofFolder(folder.path())->encode("old new").ids.size() > 4);
}

TEST_CASE("word pieces: tokens that continue a word show no space", "[text]") {
    const Tokenizer tokenizer = bertGolden("bert_uncased");
    CHECK(tokenizer.tokenText(*tokenizer.idOf("play")) == " play");
    CHECK(tokenizer.tokenText(*tokenizer.idOf("##ing")) == "ing");
    CHECK(tokenizer.tokenText(*tokenizer.idOf(".")) == ".");
    CHECK(tokenizer.tokenText(*tokenizer.maskId()) == "[MASK]");
    CHECK(tokenizer.beginId() == tokenizer.idOf("[CLS]"));
    CHECK(tokenizer.endId() == tokenizer.idOf("[SEP]"));
    CHECK_FALSE(bertGolden("gpt2").maskId());
    CHECK(tokenizer.summary().starts_with("WordPiece, "));
}

TEST_CASE("word pieces: damaged models and templates are refused with the field", "[text]") {
    const auto with = [](const char* part, const char* text) {
        return [=] { Tokenizer::fromJson(test::goldenTokenizerWith("bert_uncased", part, text)).encode("~x~"); };
    };
    CHECK(refuses(with("model", R"({"type": "WordPiece"})"), "\"model\" lacks \"vocab\""));
    CHECK(refuses(with("model", R"({"type": "WordPiece", "vocab": {}, "max_input_chars_per_word": 1000})"),
                  "words of 1000 characters; at most 256"));
    CHECK(refuses(with("model", R"({"type": "WordPiece", "vocab": {"a": 0}})"), "the unknown token \"[UNK]\""));
    CHECK(refuses(with("post_processor", R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}],
                                            "pair": [{"Sequence": {"id": "A"}}]})"),
                  "has no place for the text"));
    CHECK(refuses(
        with("post_processor", R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}], "pair": []})"),
        "names the second text"));
    CHECK(refuses(with("post_processor", R"({"type": "TemplateProcessing", "pair": [],
                                            "single": [{"Sequence": {"id": "A", "type_id": 99999999}}]})"),
                  "has token type 99999999"));
}
