#include "tests/text/text_test.h"

#include <chrono>

using namespace attn;
using namespace attn::test;
using Ids = std::vector<int>;

namespace {

/// A tokenizer.json with nothing but pieces and perhaps a normalizer, which are written as JSON.
std::string model(const std::string& pieces, const std::string& unknownId = "0",
                  const std::string& normalizer = "null") {
    return R"({"normalizer": )" + normalizer + R"(, "model": {"type": "Unigram", "unk_id": )" + unknownId +
           R"(, "vocab": [)" + pieces + "]}}";
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string letters;
    uint32_t bits = 0;
    int count = 0;
    for (const char byte : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(byte);
        for (count += 8; count >= 6; count -= 6) letters += kLetters[bits >> (count - 6) & 63];
    }
    if (count > 0) letters += kLetters[bits << (6 - count) & 63];
    return letters + std::string((4 - letters.size() % 4) % 4, '=');
}

/// A table of rules with a tree of 256 units, of which some are given.
std::string charsmap(const std::vector<std::pair<size_t, uint32_t>>& units, const std::string& texts) {
    std::string bytes{"\0\4\0\0", 4};
    bytes.resize(4 + 1024);
    for (const auto& [at, unit] : units)
        for (size_t i = 0; i < 4; ++i) bytes[4 + 4 * at + i] = static_cast<char>(unit >> 8 * i & 0xFF);
    return bytes + texts;
}

} // namespace

TEST_CASE("unigram: takes the pieces with the highest sum, and one token for unknown neighbours", "[text]") {
    const Tokenizer tokenizer =
        Tokenizer::fromJson(model(R"(["<unk>", 0], ["a", -1], ["b", -1], ["ab", -3], ["abc", -2.5], ["bc", -1.25])"));
    CHECK(tokenizer.encode("ab").ids == Ids{1, 2});
    CHECK(tokenizer.encode("abc").ids == Ids{1, 5});
    CHECK(tokenizer.encode("axyb").ids == Ids{1, 0, 2});
    CHECK(tokenizer.encode("axyb").ranges == std::vector<ByteRange>{{0, 1}, {1, 3}, {3, 4}});
    // Of two ways with the same sum, the first that was found.
    CHECK(Tokenizer::fromJson(model(R"(["<unk>", 0], ["a", -1], ["aa", -2])")).encode("aa").ids == Ids{2});
}

TEST_CASE("unigram: damaged models are refused with the field", "[text]") {
    const auto with = [](const std::string& pieces, const std::string& unknownId = "0") {
        return [=] { Tokenizer::fromJson(model(pieces, unknownId)).encode("z"); };
    };
    CHECK(refuses(with(R"(["a"])"), "\"model.vocab[0]\" has 1 parts, not a token and its score"));
    CHECK(refuses(with(R"(["a", "b"])"), "\"model.vocab[0][1]\" is string, not a number"));
    CHECK(refuses(with(R"(["a", 0])", "1"), "\"model.unk_id\" is 1, but there are 1 tokens"));
    CHECK(refuses(with(R"(["a", 0])", "null"), "no token for \"z\", and none for unknown text"));
    CHECK(refuses(with("[\"" + std::string(600, 'a') + "\", 0]"),
                  "\"model.vocab\" has a token of 600 bytes; at most 512"));
}

TEST_CASE("hostile tokenizer: a long word of many overlapping pieces costs linear time", "[text]") {
    std::string pieces = R"(["<unk>", 0])";
    for (size_t length = 1; length <= 512; ++length) pieces += R"(, [")" + std::string(length, 'a') + R"(", -1])";
    const Tokenizer tokenizer = Tokenizer::fromJson(model(pieces));
    CHECK(tokenizer.encode(std::string(100'000, 'a')).ids.size() == 196); // hours, if it grew with the square
}

TEST_CASE("charsmap: a damaged table of rules is refused", "[text]") {
    const auto normalizing = [](const std::string& compiled) {
        return Tokenizer::fromJson(model(R"(["<unk>", 0], ["a", -1], ["b", -1])", "0",
                                         R"({"type": "Precompiled", "precompiled_charsmap": ")" + compiled + R"("})"));
    };
    // The root's children begin at unit 0; unit 'b' ends a sequence, and its text stands in unit 1.
    const uint32_t atB = 'b' | 1 << 8 | ('b' ^ 1) << 10;
    const auto good = charsmap({{0, 0}, {'b', atB}, {1, 1u << 31 | 0}}, std::string("a\0", 2));
    CHECK(normalizing(base64(good)).encode("b").ids == Ids{1});
    CHECK(normalizing("").encode("b").ids == Ids{2});
    const auto refused = [&](const std::string& compiled, const std::string& part) {
        return refuses([&] { normalizing(base64(compiled)); }, "\"normalizer.precompiled_charsmap\" " + part);
    };
    CHECK(refuses([&] { normalizing("a~b="); }, "is not written in base64"));
    CHECK(refused("abc", "is a table of 3 bytes"));
    CHECK(refused(good.substr(0, 1028), "is a table of 1028 bytes with a tree of 1024"));
    CHECK(refused(good.substr(0, 1029), "has replacements that are not text"));
    CHECK(refused(charsmap({}, std::string("\xFF\0", 2)), "has replacements that are not text"));
    CHECK(refused(charsmap({{0, 300 << 10}}, std::string(1, '\0')), "has a tree whose unit 0 points outside"));
    CHECK(refused(charsmap({{0, 0}, {'b', atB}, {1, 1u << 31 | 2}}, std::string("a\0", 2)),
                  "has a tree whose unit 98 names no"));
    // A circle: the children of 'b' are the root's again.
    const auto circle = normalizing(base64(charsmap({{'b', 'b' | 'b' << 10}}, std::string("a\0", 2))));
    CHECK(circle.encode(std::string(100'000, 'b')).ids.size() == 100'000);
    const auto growing = charsmap({{'b', atB}, {1, 1u << 31}}, std::string(5000, 'a') + std::string(1, '\0'));
    CHECK(refuses([&] { normalizing(base64(growing)).encode("bbb"); }, "more than 32 times as long"));
}
