#include "engine/text/pattern.h"
#include "engine/text/text_budget.h"
#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

// Tokenizer files that mean harm, and ordinary ones that need as much as they.

using namespace attn;
using attn::test::refuses;
using nlohmann::json;

namespace {

/// A tokenizer of the letters a to d, a space and nothing else, with other parts.
Tokenizer tokenizerWith(const json& parts) {
    json document = {
        {"model",
         {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}, {" ", 4}}}, {"merges", json::array()}}}};
    document.update(parts);
    return Tokenizer::fromJson(document.dump());
}

json sequence(const char* name, const json& step, int count) {
    json steps = json::array();
    for (int i = 0; i < count; ++i) steps.push_back(step);
    return {{"type", "Sequence"}, {name, steps}};
}

json replace(const std::string& what, const std::string& content) {
    return {{"type", "Replace"}, {"pattern", {{"String", what}}}, {"content", content}};
}

constexpr const char* kTooLong = "the tokenizer makes the text more than 32 times as long";

} // namespace

TEST_CASE("hostile tokenizer: chained replacements are refused before they take memory", "[text]") {
    const json growth = replace("a", std::string(50, 'a'));
    const Tokenizer normalizing = tokenizerWith({{"normalizer", sequence("normalizers", growth, 8)}});
    CHECK(refuses([&] { normalizing.encode("abc"); }, kTooLong));
    CHECK(normalizing.encode("bcd").ids == std::vector<int>{1, 2, 3});
    CHECK(refuses(
        [&] {
            tokenizerWith({{"decoder", sequence("decoders", growth, 8)}}).decode(std::vector<int>{0}, true);
        },
        kTooLong));
    const json prepend = {{"type", "Prepend"}, {"prepend", std::string(200, 'b')}};
    CHECK(refuses(
        [&] {
            tokenizerWith({{"normalizer", sequence("normalizers", prepend, 100)}}).encode("a");
        },
        kTooLong));
    const json bytes = {{"type", "ByteLevel"}};
    CHECK(refuses(
        [&] {
            tokenizerWith({{"normalizer", sequence("normalizers", bytes, 100)}}).encode("\u00e9");
        },
        kTooLong));
    const json metaspace = {{"type", "Metaspace"}, {"replacement", std::string(20'000, 'c')}, {"split", false}};
    CHECK(refuses([&] { tokenizerWith({{"pre_tokenizer", metaspace}}).encode("a b"); }, kTooLong));
}

TEST_CASE("hostile tokenizer: an added token does not multiply what replacements may add", "[text]") {
    const json added = json::array({{{"id", 5}, {"content", "d"}}});
    const Tokenizer tokenizer = tokenizerWith({{"added_tokens", added}, {"normalizer", replace("a", "aaaaaaaaaa")}});
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "ad";
    CHECK(tokenizer.encode(text).ids.size() == 11'000); // ten times as long is within the limit
    const Tokenizer greedy =
        tokenizerWith({{"added_tokens", added}, {"normalizer", replace("a", std::string(200, 'a'))}});
    CHECK(greedy.encode("ad").ids.size() == 201);
    CHECK(refuses([&] { greedy.encode(text); }, kTooLong));
}

TEST_CASE("hostile tokenizer: letters that an expression runs over count, even where it never tries another way",
          "[text]") {
    // Each looks through the rest of the text, or a large part of it, from every place. It takes 8 s for 100,000
    // letters and 100 times as long for ten times as many.
    for (const char* expression : {"a.*b|a", "(?=.*z)a|.", "a[^b]*+b|a", "[^b]{60000}b|a", "a\\X+?b|a", "(a+)\\1c|a"}) {
        INFO(expression);
        const Pattern pattern = Pattern::regex(expression);
        CHECK(refuses(
            [&] {
                TextBudget budget(20'000);
                pattern.find(std::string(20'000, 'a'), budget);
            },
            "match limit exceeded"));
        TextBudget budget(100);
        pattern.find(std::string(100, 'a'), budget); // short texts are cut
    }
    // One cluster of a letter and its marks, of which there are no two.
    std::string marks = "a";
    for (int i = 0; i < 10'000; ++i) marks += "\u0301";
    CHECK(refuses(
        [&] {
            TextBudget budget(marks.size());
            Pattern::regex("\\X{2}|.").find(marks, budget);
        },
        "match limit exceeded"));
}

TEST_CASE("hostile tokenizer: an expression has one budget for all places of a text", "[text]") {
    // From each place of n letters, about n^3 / 6 ways: never more than PCRE2's limit, but 10^9 in all.
    const Pattern cubic = Pattern::regex("a*a*a*[bc]");
    const auto search = [](const Pattern& pattern, size_t letters) {
        TextBudget budget(letters);
        return pattern.find(std::string(letters, 'a'), budget).size();
    };
    CHECK(search(cubic, 40) == 0);
    CHECK(refuses([&] { search(cubic, 400); }, "match limit exceeded"));

    TextBudget shared(40 * 40);
    CHECK(refuses(
        [&] {
            for (int part = 0; part < 10'000; ++part) cubic.find(std::string(80, 'a'), shared);
        },
        "match limit exceeded"));
}

TEST_CASE("pattern: a long run that is searched once needs no part of the budget again", "[text]") {
    const Pattern llama3 = Pattern::regex(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                                          R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
    const auto count = [&](const std::string& text) {
        TextBudget budget(text.size());
        return llama3.find(text, budget).size();
    };
    CHECK(count(std::string(200'000, ' ')) == 1);
    CHECK(count(std::string(200'000, ' ') + "x") == 2);
    CHECK(count(std::string(200'000, 'x')) == 1);
    CHECK(count(std::string(200'000, '\n')) == 1);
    CHECK(count(std::string(300, '.') + std::string(300, '1')) == 101);
    std::string code;
    for (int line = 0; line < 1000; ++line) code += "\n" + std::string(300, ' ') + "word";
    CHECK(count(code) == 3000);
}

TEST_CASE("hostile tokenizer: steps, expressions and added tokens have limits", "[text]") {
    const json nfc = {{"type", "NFC"}};
    CHECK(refuses([&] { tokenizerWith({{"normalizer", sequence("normalizers", nfc, 1000)}}); }, "more than 256 steps"));
    const json digits = {{"type", "Digits"}};
    CHECK(refuses(
        [&] {
            tokenizerWith({{"pre_tokenizer", sequence("pretokenizers", digits, 1000)}});
        },
        "more than 256 steps"));
    const json fuse = {{"type", "Fuse"}};
    CHECK(refuses([&] { tokenizerWith({{"decoder", sequence("decoders", fuse, 1000)}}); }, "more than 256 steps"));
    const json split = {
        {"type", "Split"}, {"pattern", {{"Regex", std::string(20'000, 'x')}}}, {"behavior", "Isolated"}};
    CHECK(refuses([&] { tokenizerWith({{"pre_tokenizer", split}}); }, "has 20000 bytes; at most 16384"));
    const auto added = [](size_t count, size_t length) {
        json tokens = json::array();
        for (size_t i = 0; i < count; ++i)
            tokens.push_back({{"id", i}, {"content", std::to_string(i) + std::string(length, 'x')}});
        return json{{"added_tokens", tokens}};
    };
    CHECK(refuses([&] { tokenizerWith(added(1, 5000)); }, "is a token of 5001 bytes; at most 1024"));
    CHECK(refuses([&] { tokenizerWith(added(1200, 1000)); }, "has more than 1048576 bytes of tokens"));
    const json blank = json::array({{{"id", 5}, {"content", " "}, {"lstrip", true}, {"rstrip", true}}});
    CHECK(tokenizerWith({{"added_tokens", blank}}).encode(std::string(100'000, ' ') + "a").ids.size() <= 100'001);
}
