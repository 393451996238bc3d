#include "engine/text/tokenizer.h"

#include "engine/text/byte_alphabet.h"
#include "engine/text/pre_tokenizer.h"
#include "tests/text/text_test.h"

using namespace attn;
using namespace attn::test;
using Ids = std::vector<int>;

namespace {

const std::string kStories = ATTN_SHARED_DIR "/models/stories260k/tokenizer.json";

bool isMissing(const std::string& path) {
    if (std::filesystem::exists(path)) return false;
    WARN("skipped: " << path << " is absent");
    return true;
}

Tokenizer golden(const std::string& name) { return Tokenizer::fromJson(goldenCase(name).tokenizer, name); }

std::vector<std::string> gpt2Words(std::string_view text) {
    std::vector<std::string> words;
    for (const AlignedText& piece : PreTokenizer::byteLevel(false).apply(AlignedText(text, 0)))
        words.push_back(fromByteAlphabet(piece.text()).value());
    return words;
}

} // namespace

TEST_CASE("tokenizer: stories260k gives the known ids", "[text]") {
    if (isMissing(kStories)) return;
    const Tokenizer tokenizer = Tokenizer::load(kStories);
    CHECK(tokenizer.encode("Once upon a time").ids == Ids{1, 403, 407, 261, 378});
    const std::string text = "naïve 世界\n x";
    const Encoding encoding = tokenizer.encode(text);
    CHECK(encoding.ids == Ids{1, 297, 412, 198, 178, 360, 410, 231, 187, 153, 234, 152, 143, 13, 410, 444});
    CHECK(tokenizer.decode(encoding.ids, true) == text);
    CHECK(tokenizer.vocabularySize() == 512);
    CHECK(tokenizer.beginId() == 1);
    CHECK(tokenizer.endId() == 2);
    CHECK(tokenizer.idOf("<s>") == 1);
    CHECK(tokenizer.isSpecial(1));
    CHECK_FALSE(tokenizer.isSpecial(403));
    CHECK(tokenizer.tokenText(282) == " p");
    CHECK(tokenizer.tokenText(231) == "<0xE4>");
    CHECK(tokenizer.tokenText(13) == "\n");
    CHECK(tokenizer.tokenText(512) == "#512");
    CHECK(tokenizer.token(282) == "\u2581p");
    CHECK(tokenizer.summary() == "SentencePiece-style BPE with byte fallback, 512 tokens, 165 merges");
    // The 3 bytes of the first ideograph, then the second.
    CHECK(encoding.ranges[0] == ByteRange{0, 0});
    CHECK(encoding.ranges[7] == ByteRange{7, 8});
    CHECK(encoding.ranges[9] == ByteRange{9, 10});
    CHECK(encoding.ranges[13] == ByteRange{13, 14});
}

TEST_CASE("tokenizer: ids and decoded texts equal Hugging Face's for every shape of tokenizer", "[text]") {
    for (const TextGolden& golden : textGoldens()) {
        CAPTURE(golden.name);
        const Tokenizer tokenizer = Tokenizer::fromJson(golden.tokenizer);
        for (const TextGolden::Text& each : golden.texts) {
            CAPTURE(each.text);
            CHECK(tokenizer.encode(each.text).ids == each.ids);
            CHECK(tokenizer.encode(each.text).ids == each.ids); // from the words remembered
            CHECK(tokenizer.decode(each.ids, true) == each.decoded);
            CHECK(tokenizer.decode(each.ids, false) == each.decodedWhole);
        }
        for (const auto& [ids, text] : golden.shuffled) CHECK(tokenizer.decode(ids, false) == text);
    }
}

TEST_CASE("tokenizer: GPT-2's words", "[text]") {
    using Words = std::vector<std::string>;
    CHECK(gpt2Words("I'm sure they'll've IT'S") == Words{"I", "'m", " sure", " they", "'ll", "'ve", " IT", "'", "S"});
    CHECK(gpt2Words("a   b\t\tc \n\n d  ") == Words{"a", "  ", " b", "\t", "\t", "c", " \n\n", " d", "  "});
    CHECK(gpt2Words("x12 345,½") == Words{"x", "12", " 345", ",", "½"});
    CHECK(gpt2Words("naïve мир 世界") == Words{"naïve", " мир", " 世界"});
    CHECK(gpt2Words("e\u0301a") == Words{"e", "\u0301", "a"}); // a combining mark is no letter
    CHECK(gpt2Words("hi 😀👍🏽!") == Words{"hi", " 😀👍🏽!"});
    CHECK(gpt2Words("a\u00a0b\u3000\u180e") ==
          Words{"a", "\u00a0", "b", "\u3000", "\u180e"}); // U+180E is no white space
    CHECK(gpt2Words("").empty());
}

TEST_CASE("tokenizer: ranges of a byte-level tokenizer cover the text without gaps", "[text]") {
    const char* name = GENERATE("gpt2", "gpt2_prefix_space", "llama", "llama3");
    const Tokenizer tokenizer = golden(name);
    for (const TextGolden::Text& each : goldenCase(name).texts) {
        const std::string& text = each.text;
        CAPTURE(name, text);
        size_t end = 0;
        for (const ByteRange& range : tokenizer.encode(text).ranges) {
            CHECK(range.begin == end);
            end = range.end;
        }
        CHECK(end == text.size());
    }
}

TEST_CASE("tokenizer: ranges point into the original text when it was normalized", "[text]") {
    const Tokenizer neox = golden("neox");
    const std::string text = "xe\u0301\u0323y"; // e, acute, dot below: composed to one character
    const Encoding encoding = neox.encode(text);
    CHECK(encoding.ranges.front() == ByteRange{0, 1});
    CHECK(encoding.ranges[1].begin == 1);
    CHECK(encoding.ranges.back() == ByteRange{6, 7});
    const Encoding added = golden("added_flags").encode("a <left> b");
    CHECK(added.ranges.at(1) == ByteRange{1, 8}); // <left> takes the space before it
    CHECK(added.ranges.back().end == 10);
}

TEST_CASE("tokenizer: special tokens can be left out", "[text]") {
    const Tokenizer llama = golden("llama3");
    const Ids with = llama.encode("x").ids, without = llama.encode("x", false).ids;
    CHECK(with == Ids{*llama.beginId(), without.at(0), *llama.endId()});
    CHECK(without.size() == 1);
    CHECK(llama.decode(with, true) == "x");
    CHECK(llama.decode(with, false) == "<|begin_of_text|>x<|end_of_text|>");
    CHECK(llama.encode("", false).ids.empty());
    CHECK(golden("gpt2").endId() == golden("gpt2").idOf("<|endoftext|>"));
}

TEST_CASE("tokenizer: a byte-level token that is no whole character shows its bytes", "[text]") {
    const Tokenizer tokenizer = golden("gpt2");
    CHECK(tokenizer.tokenText(*tokenizer.idOf("\u0120t")) == " t");
    CHECK(tokenizer.tokenText(0xE4) == "<0xE4>");
    CHECK(tokenizer.tokenText('A') == "A");
    CHECK(tokenizer.tokenText(*tokenizer.idOf("<|endoftext|>")) == "<|endoftext|>");
}

TEST_CASE("tokenizer: an alphabet has one token per character", "[text]") {
    const Tokenizer letters = Tokenizer::characters({"a", "b", "é", " "});
    CHECK(letters.encode("éab a").ids == Ids{2, 0, 1, 3, 0});
    CHECK(letters.encode("éa").ranges == std::vector<ByteRange>{{0, 2}, {2, 3}});
    CHECK(letters.decode(Ids{2, 0, 3, 1}, true) == "éa b");
    CHECK(letters.tokenText(2) == "é");
    CHECK(letters.vocabularySize() == 4);
    CHECK(letters.summary() == "single characters, 4 tokens");
    CHECK_FALSE(letters.beginId());
    CHECK(refuses([&] { letters.encode("abz"); }, "no token for \"z\""));
    CHECK(refuses([&] { letters.encode("abz"); }, "its 4 characters"));

    const Tokenizer lenient = Tokenizer::characters({"a", "<unk>"}, "<unk>");
    CHECK(lenient.encode("axya").ids == Ids{0, 1, 1, 0});

    CHECK(refuses([&] { Tokenizer::characters({"a", "bc"}); }, "entry 1 is not one character"));
    CHECK(refuses([&] { Tokenizer::characters({"a", "a"}); }, "listed twice"));
    CHECK(refuses([&] { Tokenizer::characters({"a"}, "?"); }, "is missing"));
}

TEST_CASE("tokenizer: a text that a person gives loses nothing without a word", "[text]") {
    const auto symbols = [](const std::string& model, const std::string& split) {
        return Tokenizer::fromJson(R"({"model": {"type": "BPE", "merges": [], )" + model +
                                   R"(}, "pre_tokenizer": {"type": ")" + split + R"("}})");
    };
    const Tokenizer lacking = symbols(R"("vocab": {"1": 0, "3": 1, "=": 2})", "WhitespaceSplit");
    const std::string text = "3 1x\u00eb 1 hello x\u00eb =";
    CHECK(lacking.encode(text).ids == Ids{1, 0, 0, 2}); // the reference drops the others
    CHECK(lacking.encode(text).missing == std::vector<std::string>{"x\u00eb", "hello"});
    CHECK(lacking.read(text).ids == Ids{1, 0, 0, 2});
    CHECK(lacking.noteOn(lacking.read(text)) ==
          "this model has no token for \"x\u00eb\", \"hello\" and leaves them out; use "
          "only its 3 characters");
    CHECK(refuses([&] { lacking.readWhole(text); }, "this model has no token for \"x\u00eb\", \"hello\""));
    CHECK(refuses([&] { lacking.read("a"); }, "use only its 3 characters")); // else nothing would be left
    CHECK(lacking.readPair("3", "a").missing == std::vector<std::string>{"a"});
    CHECK(lacking.read("3 1 =").ids == Ids{1, 0, 2});
    CHECK(refuses([&] { lacking.read("a b c d e f g h i"); }, "\"f\" and others"));

    const Tokenizer lenient = symbols(R"("vocab": {"1": 0, "?": 1}, "unk_token": "?")", "WhitespaceSplit");
    const Encoding read = lenient.read("1x ? y1");
    CHECK(read.ids == Ids{0, 1, 1, 1, 0}); // "?" is its own token, and stands for the others
    CHECK(read.missing == std::vector<std::string>{"x", "y"});
    CHECK(lenient.noteOn(read) == "this model has no token for \"x\", \"y\" and reads ? there");
    CHECK(lenient.noteOn(lenient.read("1 ?")).empty());

    // The two bytes of a letter are two of this tokenizer's letters, of which it has one: the whole letter is named.
    const Tokenizer bytes = Tokenizer::fromJson(
        R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "\u00c3": 1}},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}})");
    CHECK(bytes.encode("a\u00eba").missing == std::vector<std::string>{"\u00eb"});
}
