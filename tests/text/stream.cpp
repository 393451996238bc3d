#include "engine/text/utf8.h"
#include "tests/text/text_test.h"

#include <ctime>

using namespace attn;
using namespace attn::test;

namespace {

Tokenizer goldenStream(const std::string& name) { return Tokenizer::fromJson(goldenCase(name).tokenizer, name); }

std::string randomText(std::mt19937& random, size_t characters) {
    constexpr std::array<char32_t, 6> kLimits{0x7F, 0x7F, 0x3FF, 0x3000, 0xFFFF, 0x10FFFF};
    std::string text;
    while (characters > 0) {
        const char32_t code = static_cast<char32_t>(random()) % kLimits[random() % kLimits.size()];
        if (code >= 0xD800 && code < 0xE000) continue;
        utf8::append(text, code);
        --characters;
    }
    return text;
}

} // namespace

TEST_CASE("text: every text comes back from its ids", "[text]") {
    std::mt19937 random(11);
    // Without normalizers: no byte may be lost. SentencePiece's decoder writes its mark U+2581 as a space.
    for (const char* name : {"gpt2", "llama3", "o200k", "deepseek", "starcoder", "llama"}) {
        const Tokenizer tokenizer = goldenStream(name);
        for (int i = 0; i < 300; ++i) {
            std::string text = randomText(random, 1 + random() % 80);
            if (text.find("\u2581") != std::string::npos) continue;
            CAPTURE(name, text);
            CHECK(tokenizer.decode(tokenizer.encode(text).ids, true) == text);
        }
    }
}

TEST_CASE("text: every character of Unicode comes back from its ids", "[text]") {
    const Tokenizer bytes = goldenStream("gpt2"), pieces = goldenStream("llama");
    for (char32_t first = 0; first < 0x110000; first += 0x400) {
        std::string text = "a";
        for (char32_t code = first; code < first + 0x400; ++code)
            if ((code < 0xD800 || code >= 0xE000) && code != 0x2581) utf8::append(text, code);
        CHECK(bytes.decode(bytes.encode(text).ids, true) == text);
        CHECK(pieces.decode(pieces.encode(text).ids, true) == text);
    }
}

TEST_CASE("text: a play comes back from its ids", "[text]") {
    const std::string path = ATTN_SHARED_DIR "/data/tinyshakespeare.txt";
    if (!std::filesystem::exists(path)) {
        WARN("skipped: " << path << " is absent");
        return;
    }
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const char* name : {"gpt2", "llama3", "llama"}) {
        const Tokenizer tokenizer = goldenStream(name);
        CHECK((tokenizer.decode(tokenizer.encode(text).ids, true) == text));
    }
}

TEST_CASE("stream decoder: the pieces are whole characters and add up to the decoded text", "[text]") {
    for (const TextGolden& golden : textGoldens()) {
        const Tokenizer tokenizer = Tokenizer::fromJson(golden.tokenizer);
        StreamDecoder stream(tokenizer, true);
        for (const TextGolden::Text& each : golden.texts) {
            CAPTURE(golden.name, each.text);
            std::string sum;
            for (int id : each.ids) {
                const std::string piece = stream.push(id);
                CHECK_FALSE(utf8::firstInvalid(piece));
                sum += piece;
            }
            CHECK(sum + stream.finish() == tokenizer.decode(each.ids, true));
        }
    }
}

TEST_CASE("stream decoder: a character appears with its last byte", "[text]") {
    const Tokenizer tokenizer = goldenStream("gpt2"); // ids below 256 are bytes
    StreamDecoder stream(tokenizer, true);
    CHECK(stream.push('a') == "a");
    CHECK(stream.push(0xE4).empty());
    CHECK(stream.push(0xB8).empty());
    CHECK(stream.push(0x96) == "世");
    CHECK(stream.push(0xE4).empty());
    CHECK(stream.push('b') == "\uFFFDb");
    CHECK(stream.push(0xF0).empty());
    CHECK(stream.finish() == "\uFFFD");
    CHECK(stream.push('c') == "c");
}

TEST_CASE("stream decoder: byte fallback shows a character at once and keeps the first space out", "[text]") {
    const Tokenizer tokenizer = goldenStream("llama");
    const auto byte = [&](const char* token) { return tokenizer.idOf(token).value(); };
    StreamDecoder stream(tokenizer, true);
    CHECK(stream.push(byte("\u2581the")) == "the");
    CHECK(stream.push(byte("\u2581the")) == " the");
    CHECK(stream.push(byte("<0xE4>")).empty());
    CHECK(stream.push(byte("<0xB8>")).empty());
    CHECK(stream.push(byte("<0x96>")) == "世");
    CHECK(stream.push(byte("<0xFF>")) == "\uFFFD");
    CHECK(stream.push(byte("</s>")).empty());
    CHECK(stream.finish().empty());
}

TEST_CASE("stream decoder: what may be stripped from the end waits", "[text]") {
    const Tokenizer tokenizer = Tokenizer::fromJson(goldenTokenizerWith("gpt2", "decoder", R"({"type": "Sequence",
        "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "x", "start": 2, "stop": 1}]})"));
    const std::vector<int> ids{'x', 'x', 'x', 'a', 'x', 'b', 'x', 'x'};
    CHECK(tokenizer.decode(ids, true) == "xaxbx");
    StreamDecoder stream(tokenizer, true);
    std::string sum;
    for (int id : ids) sum += stream.push(id);
    CHECK(sum + stream.finish() == "xaxbx");
}

TEST_CASE("text: very long words and runs take no quadratic time", "[text]") {
    std::string letters, spaces(100'000, ' '), newlines(100'000, '\n');
    std::mt19937 random(5);
    while (letters.size() < 100'000) letters.push_back(static_cast<char>('a' + random() % 26));
    const std::string same(100'000, 'a');
    // The work is measured in time of the processor, which other programs do not take, and against that of texts a
    // tenth as long, so that the machine's speed does not count: 10 times as much where it is linear, 100 where it is
    // quadratic.
    const auto work = [&](const Tokenizer& tokenizer, const std::string& text, const char* name) {
        const std::clock_t begin = std::clock();
        CAPTURE(name, text.size(), text[0]);
        CHECK((tokenizer.decode(tokenizer.encode(text).ids, true) == text || std::string(name) == "metaspace_always"));
        return static_cast<double>(std::clock() - begin);
    };
    double ofShort = 0, ofLong = 0;
    for (const char* name : {"gpt2", "llama3", "qwen2", "o200k", "llama", "metaspace_always", "added_flags"}) {
        const Tokenizer tokenizer = goldenStream(name);
        for (const std::string& text : {letters, same, spaces, newlines, spaces + "x"}) {
            ofShort += work(tokenizer, text.substr(text.size() - text.size() / 10), name);
            ofLong += work(tokenizer, text, name);
        }
    }
    CHECK(ofLong < 40 * ofShort);
}
