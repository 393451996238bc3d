#include "engine/system/temporary_folder.h"
#include "tests/io/mutator.h"
#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

using namespace attn;
using namespace attn::test;
using Ids = std::vector<int>;

namespace {

const std::filesystem::path kPieces = ATTN_TEST_DIR "/golden/text/sentence_pieces";

std::string fileOf(const std::string& name) {
    std::ifstream file(kPieces / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder with one file, and its tokenizer.
struct OneFile : TemporaryFolder {
    OneFile(const std::string& name, const std::string& bytes) {
        write(name, bytes);
        write("config.json", name == "spiece.model" ? R"({"model_type": "t5"})" : R"({"model_type": "xlm-roberta"})");
    }
    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path() / name, std::ios::binary) << bytes;
    }
    Tokenizer tokenizer() const { return Tokenizer::ofFolder(path()).value(); }
};

/// Compares the ids of all golden texts with SentencePiece's own.
void checkIds(const Tokenizer& tokenizer, const std::string& name) {
    for (const TextGolden::Text& golden : sentencePieceGoldens(name)) {
        CAPTURE(name, golden.text);
        const Encoding encoding = tokenizer.encode(golden.text);
        CHECK(encoding.ids == golden.ids);
        if (!golden.decoded.empty()) CHECK(tokenizer.decode(encoding.ids, true) == golden.decoded);
        size_t begin = 0; // the tokens lie in order, within the text
        for (const ByteRange& range : encoding.ranges) {
            CHECK((range.begin >= begin && range.end >= range.begin && range.end <= golden.text.size()));
            begin = range.begin;
        }
    }
}

/// A field of a protocol buffer: a text, or a number.
std::string field(int number, const std::string& bytes) {
    REQUIRE(bytes.size() < 128);
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, char value) { return {static_cast<char>(number << 3), value}; }
std::string piece(const std::string& text, char kind) { return field(1, field(1, text) + field(3, kind)); }

} // namespace

TEST_CASE("sentence pieces: T5's and XLM-RoBERTa's folders give SentencePiece's ids", "[text]") {
    for (const char* name : {"t5", "xlm_roberta", "bytes", "whole"})
        checkIds(Tokenizer::ofFolder(kPieces / name).value(), name);
}

TEST_CASE("sentence pieces: a Marian folder has a tokenizer for each language", "[text]") {
    const std::optional<TranslationTokenizers> both = Tokenizer::ofTranslationFolder(kPieces / "marian");
    REQUIRE(both);
    checkIds(both->source, "source");
    checkIds(both->target, "target");
    const int language = both->source.idOf(">>fra<<").value();
    Ids ids = both->source.encode("the King").ids;
    ids.insert(ids.begin(), language);
    CHECK(both->source.encode(">>fra<< the King").ids == ids);
    CHECK(both->source.vocabularySize() == both->target.vocabularySize());
    CHECK(both->target.decode(both->target.encode("gur ybir").ids, true) == "gur ybir");
    CHECK_FALSE(Tokenizer::ofTranslationFolder(kPieces / "t5"));

    const TemporaryFolder own; // the target's vocabulary is the other one backwards
    std::filesystem::copy(kPieces / "marian", own.path());
    nlohmann::json list = nlohmann::json::parse(fileOf("marian/vocab.json")), backwards;
    for (const auto& [token, id] : list.items()) backwards[token] = list.size() - 1 - id.get<size_t>();
    std::ofstream(own.path() / "tokenizer_config.json") << R"({"separate_vocabs": true})";
    CHECK(refuses([&] { Tokenizer::ofTranslationFolder(own.path()); }, "target_vocab.json is missing"));
    std::ofstream(own.path() / "target_vocab.json") << backwards.dump();
    const std::optional<TranslationTokenizers> apart = Tokenizer::ofTranslationFolder(own.path());
    REQUIRE(apart);
    CHECK(apart->source.encode("the King").ids == both->source.encode("the King").ids);
    Ids turned = both->target.encode("gur ybir").ids;
    for (int& id : turned) id = static_cast<int>(list.size()) - 1 - id;
    CHECK(apart->target.encode("gur ybir").ids == turned);
    CHECK(apart->target.decode(turned, true) == "gur ybir");
    CHECK(apart->target.token(turned.front()) == both->target.token(both->target.encode("gur ybir").ids.front()));
    std::ofstream(own.path() / "tokenizer_config.json") << R"({"separate_vocabs": false})";
    CHECK(Tokenizer::ofTranslationFolder(own.path())->target.encode("gur ybir").ids ==
          both->target.encode("gur ybir").ids);

    const TemporaryFolder damaged;
    std::filesystem::copy(kPieces / "marian", damaged.path());
    std::ofstream(damaged.path() / "vocab.json") << R"({"</s>": 0, "a": 1})";
    CHECK(refuses([&] { Tokenizer::ofTranslationFolder(damaged.path()); }, "\"<unk>\" is missing among the tokens"));
}

TEST_CASE("sentence pieces: T5's sentinels stand behind the pieces", "[text]") {
    const OneFile folder("spiece.model", fileOf("t5/spiece.model"));
    const Tokenizer usual = folder.tokenizer();
    CHECK(usual.vocabularySize() == 400);
    CHECK(usual.idOf("<extra_id_99>") == 300);
    CHECK(usual.idOf("<extra_id_0>") == 399);
    CHECK(usual.isSpecial(399));
    CHECK(usual.endId() == 1);
    CHECK(usual.summary() == "Unigram, 400 tokens");
    Ids ids = usual.encode("the").ids;
    const Ids last = usual.encode("love", false).ids;
    ids.back() = 399;
    ids.insert(ids.end(), last.begin(), last.end());
    ids.push_back(1);
    CHECK(usual.encode("the <extra_id_0> love").ids == ids);
    CHECK(usual.decode(ids, true) == "the love");
    const Encoding pair = usual.encodePair("the", "King");
    CHECK(pair.ids.back() == 1);
    CHECK(std::ranges::count(pair.ids, 1) == 2);

    folder.write("tokenizer_config.json", R"({"extra_ids": 3})");
    CHECK(folder.tokenizer().idOf("<extra_id_0>") == 302);
    folder.write("tokenizer_config.json", R"({"extra_ids": 0})");
    CHECK(folder.tokenizer().vocabularySize() == 300);
    folder.write("tokenizer_config.json", R"({"extra_ids": 1000000})");
    CHECK(refuses([&] { folder.tokenizer(); }, "\"extra_ids\" is 1000000; at most 10000"));
    // mT5 has its sentinels among the pieces.
    const Tokenizer mt5 = Tokenizer::ofFolder(kPieces / "bytes").value();
    CHECK(mt5.vocabularySize() == 500);
    CHECK(mt5.encode("<extra_id_0>").ids == Ids{mt5.idOf("\u2581<extra_id_0>").value(), 1});
    CHECK(mt5.summary() == "Unigram with byte fallback, 500 tokens");
}

TEST_CASE("sentence pieces: a token covers the letters that it came from", "[text]") {
    const Tokenizer tokenizer = Tokenizer::ofFolder(kPieces / "t5").value();
    const std::string text = "  Ｔｈｅ  \ufb01re\u2026 \u4e16";
    const Encoding encoding = tokenizer.encode(text);
    std::string covered;
    for (size_t i = 0; i < encoding.ids.size(); ++i) {
        const ByteRange range = encoding.ranges[i];
        covered += tokenizer.tokenText(encoding.ids[i]) + "=" + text.substr(range.begin, range.end - range.begin) + "|";
    }
    CHECK(covered == " The=Ｔｈｅ| f=  \ufb01|i=\ufb01|re=re|.=\u2026|.=\u2026|.=\u2026| = |<unk>=\u4e16|</s>=|");
}

TEST_CASE("sentence pieces: damaged files are refused with their name", "[text]") {
    const std::string start = piece("<unk>", 2) + piece("</s>", 3) + piece("a", 1);
    const auto refused = [](const std::string& bytes, const std::string& part, const char* name = "spiece.model") {
        return refuses([&] { OneFile(name, bytes).tokenizer(); }, name + (": " + part));
    };
    CHECK(OneFile("spiece.model", start).tokenizer().encode("\u2581a").ids.back() == 1);
    CHECK(refused("", "the file is empty"));
    CHECK(refused("{\"a\": 1}", "the file is no SentencePiece model"));
    CHECK(refused(fileOf("t5/spiece.model").substr(0, 1000), "the file is cut off"));
    CHECK(refused(start + "\x08" + std::string(12, '\x88'), "the file is no SentencePiece model: it has a number"));
    CHECK(refused(start + field(1, 'x'), "field 1 is of type 0, not 2"));
    CHECK(refused(start + piece("x", 9), "piece 3 is of type 9"));
    CHECK(refused(start + piece("\xC0", 1), "piece 3 is not text"));
    CHECK(refused(start + piece("", 1), "piece 3 is not text"));
    CHECK(refused(start + field(2, field(3, 3)),
                  "the SentencePiece model is neither of the kind Unigram nor of the kind BPE"));
    CHECK(refused(start + field(2, std::string("\xC0\x01\x01")), "the SentencePiece model puts spaces behind words"));
    CHECK(refused(start + field(3, field(2, "abc")), "\"precompiled_charsmap\" is a table of 3 bytes"));
    CHECK(refused(piece("a", 1), "\"<unk>\" is missing among the tokens"));
    CHECK(refused(start, "the first three pieces are not <unk>, <s> and </s>", "sentencepiece.bpe.model"));
}

TEST_CASE("sentence pieces: mutated files load or are refused, never more", "[text]") {
    test::Mutator mutator(2025);
    const std::vector<std::string> sources{fileOf("bytes/spiece.model"), fileOf("xlm_roberta/sentencepiece.bpe.model")};
    size_t loaded = 0;
    for (int round = 0; round < 2000; ++round) {
        const size_t which = mutator.below(2);
        const OneFile folder(which == 0 ? "spiece.model" : "sentencepiece.bpe.model", mutator(sources[which]));
        try {
            const Tokenizer tokenizer = folder.tokenizer();
            ++loaded;
            const Encoding encoding = tokenizer.encode("ab  <s> A1\u00e9e\u0301z [sep]b!\u2460");
            CHECK(encoding.ids.size() == encoding.ranges.size());
            tokenizer.decode(encoding.ids, true);
        } catch (const Error& error) {
            CHECK_FALSE(error.hint().empty());
        }
    }
    CHECK(loaded > 100);
}
